"""Which of NumPy's names are NumPy's own here, and why a traced array has none of its functions there."""

from __future__ import annotations

from types import ModuleType

import numpy as np

from primad.recording.protocols import REFUSED

NOTHING_TO_RECORD: dict[str, str] = {
    "It reads or writes files, text or buffers.": """
        array2string array_repr array_str base_repr binary_repr datetime_as_string format_float_positional
        format_float_scientific frombuffer fromfile fromiter fromregex fromstring from_dlpack genfromtxt load loadtxt
        save savetxt savez savez_compressed""",
    "It is about NumPy itself, its settings, types, dates and matrices.": """
        asmatrix bmat busday_count busday_offset can_cast common_type datetime_data einsum_path frompyfunc get_include
        get_printoptions getbufsize geterr geterrcall info is_busday isdtype isnat isscalar issubdtype iterable
        min_scalar_type mintypecode nested_iters printoptions promote_types set_printoptions setbufsize seterr
        seterrcall show_config show_runtime test typename""",
    "It makes plain arrays, of lengths and positions.": """
        arange bartlett blackman broadcast_shapes diag_indices diag_indices_from fromfunction
        hamming hanning indices ix_ mask_indices ravel_multi_index tril_indices
        tril_indices_from triu_indices triu_indices_from unravel_index""",
}
"""Functions of NumPy's that take no values with derivatives: they are NumPy's own."""
WRITING: dict[str, str] = {
    "It writes into an array, which works for those that primad.numpy makes in a recording, and for no others.": """
        copyto fill_diagonal place put put_along_axis putmask""",
}
"""Functions that change their first argument; they are NumPy's own, and arrays that may be written to obey."""


def _own(name: str) -> bool:
    return name in vars(np) and not name.startswith("_") and not isinstance(vars(np)[name], ModuleType)


def numpys_own(taken: set[str]) -> list[str]:
    """Return NumPy's names, of no module, that this package does not define; and say why functions are refused."""
    for reason, names in (*NOTHING_TO_RECORD.items(), *WRITING.items()):
        for name in names.split():
            function = getattr(np, name, None)
            if function is not None:
                REFUSED[function] = reason
    return [name for name in np.__all__ if name not in taken and _own(name)]
