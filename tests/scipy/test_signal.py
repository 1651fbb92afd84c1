"""primad.scipy.signal: SciPy's values under every transform, and derivatives in signals, coefficients and windows."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from scipy import signal

import primad
import primad.numpy as pnp
import primad.scipy.signal as mirror
from primad.recording.scipy_names import RECORDED
from tests.mirrored import check_mirror
from tests.sweeps import thinned

RNG = np.random.default_rng(0)
X = RNG.normal(size=30)
ROWS = RNG.normal(size=(2, 30))
B, A = signal.butter(3, 0.3)
SOS = signal.butter(4, [0.2, 0.5], "band", output="sos")
Z = RNG.normal(size=3)
IMAGE, KERNEL = RNG.normal(size=(6, 5)), RNG.normal(size=(3, 2))


def spectrum(found: Any) -> Any:
    """Return what the last of several results is, which is the one that is differentiated."""
    return found[-1]


FILTERS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "lfilter": (lambda of, b, a, x: of.lfilter(b, a, x), (B, A, X)),
    "a not normalised": (lambda of, b, a, x: of.lfilter(b, a, x, axis=0), (B, 2 * A[:3], ROWS.T)),
    "with a state": (lambda of, b, a, x, z: of.lfilter(b, a, x, zi=z)[0], (B, A, X, Z)),
    "state after": (lambda of, b, a, x, z: of.lfilter(b, a, x, zi=z)[1], (B[:3], A, X, Z)),
    "one state of two rows": (lambda of, x, z: of.lfilter(B, A, x, zi=z)[1], (ROWS, Z[None])),
    "no feedback": (lambda of, b, x: of.lfilter(b, [2.0], x), (B, ROWS)),
    "no feedback, state": (lambda of, b, x, z: of.lfilter(b, [1.0], x, zi=z)[0], (B, X, Z)),
    "no feedback, state after": (lambda of, b, x, z: of.lfilter(b, [1.0], x, zi=z)[1], (B, X, Z)),
    "no feedback, short": (lambda of, b, x, z: of.lfilter(b, [1.0], x, zi=z)[1], (B, X[:2], Z)),
    "no feedback, short signal": (lambda of, b, x, z: of.lfilter(b, [1.0], x, zi=z)[0], (B, X[:2], Z)),
    "a factor": (lambda of, b, x: of.lfilter(b, 2.0, x), (B[:1], X)),
    "lfilter_zi": (lambda of, b, a: of.lfilter_zi(b, a), (B, 2 * A)),
    "lfilter_zi of a short b": (lambda of, b, a: of.lfilter_zi(b, a), (B[:2], A)),
    "sosfilt": (lambda of, x: of.sosfilt(SOS, x, axis=0), (ROWS.T,)),
    "sosfilt with a state": (lambda of, x, z: of.sosfilt(SOS, x, zi=z)[0], (X, RNG.normal(size=(4, 2)))),
    "sosfilt's state": (lambda of, x, z: of.sosfilt(SOS, x, zi=z)[1], (ROWS, RNG.normal(size=(4, 2, 2)))),
    "sosfilt_zi": (lambda of, sos: of.sosfilt_zi(sos), (SOS,)),
    "filtfilt": (lambda of, b, a, x: of.filtfilt(b, a, x), (B, A, X)),
    "filtfilt, even": (lambda of, x: of.filtfilt(B, A, x, 0, "even", padlen=5), (ROWS.T,)),
    "filtfilt, constant": (lambda of, x: of.filtfilt(B, A, x, padtype="constant"), (X,)),
    "filtfilt as it is": (lambda of, x: of.filtfilt(B, A, x, padtype=None), (X,)),
    "sosfiltfilt": (lambda of, x: of.sosfiltfilt(SOS, x), (X,)),
    "sosfiltfilt of rows": (lambda of, x: of.sosfiltfilt(SOS, x, 0, "even", 7), (ROWS.T,)),
}  # fmt: skip


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", FILTERS)
def test_filters(name: str) -> None:
    call, args = FILTERS[name]
    check_mirror(call, mirror, signal, *args, rtol=1e-10)


def test_sections_are_differentiated() -> None:
    """SciPy's own insists on a first coefficient of 1, which differences would change."""
    for call in (
        lambda of, rest: of.sosfilt(np.c_[rest[:, :3], [1] * 4, rest[:, 3:]] if of is signal else pnp.concatenate(
            [rest[:, :3], np.ones((4, 1)), rest[:, 3:]], axis=1), X),
        lambda of, rest: of.sosfiltfilt(np.c_[rest[:, :3], [1] * 4, rest[:, 3:]] if of is signal else pnp.concatenate(
            [rest[:, :3], np.ones((4, 1)), rest[:, 3:]], axis=1), X, padlen=9),
    ):  # fmt: skip
        rest = np.delete(SOS, 3, axis=1)
        check_mirror(lambda of, rest, call=call: call(of, rest) if not isinstance(rest, np.ndarray) or of is signal
                     else call(signal, rest), mirror, signal, rest, rtol=1e-10)  # fmt: skip


H = signal.firwin(7, 0.4)
RATES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    **{f"firwin {kind} {f}": (lambda of, f, kind=kind: of.firwin(11, f, pass_zero=kind), (np.array(f),))
       for kind, f in ((True, 0.3), ("lowpass", [0.2]), (False, 0.4), ("bandpass", [0.2, 0.5]), (True, [0.3, 0.6]),
                       (False, [0.1, 0.3, 0.6]), (True, [0.1, 0.3, 0.6]))},
    "firwin, not scaled": (lambda of, f: of.firwin(9, f, window=("kaiser", 3.0), scale=False), (np.array([0.3, 0.5]),)),
    "firwin, by a width": (lambda of, f: of.firwin(9, f, width=0.2, fs=2.5), (np.array([0.3]),)),
    "firwin, even": (lambda of, f: of.firwin(8, f), (np.array([0.3]),)),
    **{f"upfirdn {up} {down}": (lambda of, h, x, up=up, down=down: of.upfirdn(h, x, up, down), (H, ROWS))
       for up, down in ((1, 1), (3, 1), (1, 4), (3, 2), (9, 2))},
    "upfirdn along the first axis": (lambda of, h, x: of.upfirdn(h, x, 2, 3, axis=0), (H[:2], ROWS.T)),
    **{f"resample_poly {up} {down}, {pad}": (
        lambda of, x, up=up, down=down, pad=pad: of.resample_poly(x, up, down, padtype=pad), (X,))
       for up, down, pad in ((2, 3, "constant"), (4, 6, "mean"), (5, 1, "median"), (1, 1, "mean"), (1, 2, "maximum"))},
    "resample_poly by coefficients": (lambda of, x, h: of.resample_poly(x, 3, 2, axis=1, window=h), (ROWS, H)),
    **{f"decimate {kind} {both}": (lambda of, x, kind=kind, both=both: of.decimate(x, 3, None, kind, 0, both),
                                   (np.concatenate([ROWS.T, ROWS.T]),))
       for kind in ("iir", "fir") for both in (True, False)},
    "decimate, short": (lambda of, x: of.decimate(x, 2, 4), (X,)),
}  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", RATES)
def test_rates(name: str) -> None:
    call, args = RATES[name]
    check_mirror(call, mirror, signal, *args, rtol=1e-9)


def test_rates_refuse_what_they_cannot() -> None:
    for call, message in (
        (lambda x: mirror.firwin(8, x, pass_zero=False), "no response at Nyquist"),
        (lambda x: mirror.firwin(9, x, pass_zero="bandpass"), "pass_zero='bandpass' with 1 frequencies"),
        (lambda x: mirror.upfirdn(H, x * X, mode="wrap"), "extend the signal by np.pad"),
        (lambda x: mirror.resample_poly(x * X, 2, 3, padtype="line"), "extend the signal by np.pad"),
        (lambda x: mirror.decimate(x * X, 0), "q must be 1 at least"),
    ):
        with pytest.raises(primad.PrimadError, match=message):
            primad.jit(call)(0.3)


CONVOLUTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    f"{name} {mode} {' '.join(str(each.shape) for each in args)} {options}": (
        lambda of, x, k, name=name, mode=mode, options=options: getattr(of, name)(x, k, mode, **options), args)
    for name in ("convolve", "correlate", "fftconvolve", "oaconvolve", "convolve2d", "correlate2d")
    for mode in ("full", "same", "valid")
    for options in {"convolve": ({}, {"method": "direct"}, {"method": "fft"}), "correlate": ({}, {"method": "direct"}),
                    "convolve2d": ({}, {"boundary": "wrap"}, {"boundary": "symm"}, {"fillvalue": 2.0}),
                    "correlate2d": ({}, {"boundary": "symm"})}.get(name, ({},))
    for args in ((IMAGE, KERNEL), (KERNEL, IMAGE), *([] if "2d" in name else [(X, KERNEL[:, 0]), (Z[:2], X[:9])]))
}  # fmt: skip


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions(name: str) -> None:
    call, args = CONVOLUTIONS[name]
    check_mirror(call, mirror, signal, *args)


def test_convolutions_of_other_numbers() -> None:
    complex_, ints = X + 1j * X[::-1], np.arange(12)
    for call, args in (
        (lambda of, x, k: of.convolve(x, k), (complex_[:8], KERNEL[:, 0])),
        (lambda of, x, k: of.correlate(x, k, method="direct"), (complex_[:8], complex_[2:5])),
        (lambda of, x, k: of.fftconvolve(x, k, "same", axes=1), (ROWS, IMAGE[:2])),
        (lambda of, x, k: of.fftconvolve(x, k), (complex_[:8], KERNEL[:, 0])),
        (lambda of, x, k: of.fftconvolve(x, k, axes=[0]), (IMAGE, KERNEL[:, :1])),
    ):
        check_mirror(call, mirror, signal, *args, smooth=() if args[0].dtype.kind == "c" else None)
    for method in ("direct", "fft", "auto"):
        found = primad.jit(lambda x, m=method: mirror.convolve(x, ints[:3], method=m))(ints)
        np.testing.assert_array_equal(found, signal.convolve(ints, ints[:3]))
        assert found.dtype == ints.dtype
    cube = RNG.normal(size=(3, 4, 2))
    check_mirror(lambda of, x, k: of.convolve(x, k, "same"), mirror, signal, cube, cube[:2, :2, :1])


SMOOTH: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "savgol": (lambda of, x: of.savgol_filter(x, 7, 3), (ROWS,)),
    "savgol, distance": (lambda of, x, d: of.savgol_filter(x, 5, 2, 1, delta=d), (X, np.array(0.7))),
    "savgol, outside": (lambda of, x, c: of.savgol_filter(x, 5, 2, mode="constant", cval=c), (X, np.array(0.7))),
    "resample by weights": (lambda of, x, w: of.resample(x, 12, window=w), (X[:9], np.hanning(9))),
    "savgol, even": (lambda of, x: of.savgol_filter(x, 6, 2), (X,)),
    "savgol, short": (lambda of, x: of.savgol_filter(x, 7, 2, 1), (X[:7],)),
    "savgol, even and short": (lambda of, x: of.savgol_filter(x, 6, 2, 1), (X[:6],)),
    "savgol slope": (lambda of, x: of.savgol_filter(x, 5, 2, deriv=1, delta=0.5, axis=0), (ROWS.T,)),
    **{f"savgol {mode}": (lambda of, x, mode=mode: of.savgol_filter(x, 7, 3, deriv=2, mode=mode, cval=1.5), (X,))
       for mode in ("mirror", "constant", "nearest", "wrap")},
    "detrend": (lambda of, x: of.detrend(x), (ROWS,)),
    "detrend constant": (lambda of, x: of.detrend(x, 0, "constant"), (ROWS,)),
    "detrend parts": (lambda of, x: of.detrend(x, bp=[7, 20]), (ROWS,)),
    "detrend a sample": (lambda of, x: of.detrend(x, bp=[1]), (X,)),
    **{f"resample {n} to {num} {options}": (
        lambda of, x, num=num, options=options: of.resample(x, num, **options), (X[:n],))
       for n in (12, 13) for num in (12, 5, 6, 20, 21) for options in ({}, {"window": "hann"})},
    "resample frequencies": (lambda of, x: of.resample(x, 20, domain="freq", axis=1), (ROWS[:, :12] * (1 + 2j),)),
    **{f"resample complex {num}": (lambda of, x, num=num: of.resample(x, num, window="hamming"), (X[:12] * (1 + 2j),))
       for num in (6, 7, 20)},
    "hilbert": (lambda of, x: of.hilbert(x), (ROWS,)),
    "hilbert odd": (lambda of, x: of.hilbert(x, 31, axis=0), (ROWS.T,)),
    "hilbert one": (lambda of, x: of.hilbert(x, 1), (X[:1],)),
}  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", SMOOTH)
def test_smoothing_and_resampling(name: str) -> None:
    call, args = SMOOTH[name]
    smooth = () if args[0].dtype.kind == "c" else None
    check_mirror(call, mirror, signal, *args, smooth=smooth)


W = np.hanning(10)[1:-1]
SPECTRA: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "welch": (lambda of, x: of.welch(x, nperseg=8), (ROWS,)),
    "welch, window": (lambda of, x, w: of.welch(x, 2.0, window=w), (X, W)),
    "welch, rate": (lambda of, x, fs: of.welch(x, fs, nperseg=8)[1], (X, np.array(2.0))),
    "welch, options": (lambda of, x: of.welch(x, 2.0, "hamming", 7, 3, 9, "linear", scaling="spectrum"), (X,)),
    "welch, no trend": (lambda of, x: of.welch(x, nperseg=8, detrend=False, return_onesided=False), (X,)),
    "welch, median": (lambda of, x: of.welch(x, nperseg=8, average="median", axis=0), (ROWS.T,)),
    "welch, trend by a function": (lambda of, x: of.welch(x, nperseg=8, detrend=lambda d: 2 * d), (X,)),
    "csd": (lambda of, x, y: of.csd(x, y, nperseg=8), (X, ROWS)),
    "csd, short": (lambda of, x, y: of.csd(x, y, nperseg=8, average="median"), (X, ROWS[0, :20])),
    "periodogram": (lambda of, x: of.periodogram(x), (ROWS,)),
    "periodogram, few": (lambda of, x: of.periodogram(x, nfft=12, window="hann"), (X,)),
    "periodogram, many": (lambda of, x: of.periodogram(x, nfft=40, scaling="spectrum"), (X,)),
    "coherence": (lambda of, x, y: of.coherence(x, y, nperseg=8), (X, ROWS[1])),
    "stft": (lambda of, x: of.stft(x, nperseg=8), (ROWS,)),
    "stft, options": (lambda of, x: of.stft(x, 3.0, "hann", 8, 5, 10, "constant", axis=0, scaling="psd"), (ROWS.T,)),
    **{f"stft {boundary}": (
        lambda of, x, boundary=boundary: of.stft(x, nperseg=7, boundary=boundary, padded=False), (X,))
       for boundary in ("even", "odd", "constant", None)},
    "stft, both sides": (lambda of, x, w: of.stft(x, window=w, nperseg=8, return_onesided=False), (X, W)),
    **{f"spectrogram {mode}": (lambda of, x, mode=mode: of.spectrogram(x, nperseg=8, mode=mode), (ROWS,))
       for mode in ("psd", "complex", "magnitude", "angle", "phase")},
    "istft": (lambda of, x: of.istft(x, nperseg=8), (signal.stft(ROWS, nperseg=8)[2],)),
    "istft, axes": (lambda of, x: of.istft(x, 2.0, nperseg=7, time_axis=0, freq_axis=1, scaling="psd"),
                    (np.moveaxis(signal.stft(ROWS, nperseg=7)[2], -1, 0).swapaxes(1, 2),)),
    "istft, both sides": (lambda of, x: of.istft(x, nperseg=8, input_onesided=False, boundary=False),
                          (signal.stft(X, nperseg=8, return_onesided=False)[2],)),
}  # fmt: skip


@pytest.mark.one_in(6)
@pytest.mark.filterwarnings("ignore:NOLA condition failed")
@pytest.mark.parametrize("name", SPECTRA)
def test_spectra(name: str) -> None:
    call, args = SPECTRA[name]
    smooth = () if args[0].dtype.kind == "c" else None
    check_mirror(lambda of, *given: call(of, *given)[-1], mirror, signal, *args, smooth=smooth, rtol=1e-10)
    for found, wanted in zip(primad.jit(lambda x: call(mirror, x, *args[1:])[:-1])(args[0]), call(signal, *args)[:-1],
                             strict=True):  # fmt: skip
        np.testing.assert_allclose(found, wanted, rtol=1e-14)


RESPONSES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "freqz": (lambda of, b, a: of.freqz(b, a, 16)[1], (B, A)),
    "freqz whole": (lambda of, b: of.freqz(b, 2.0, 9, whole=True)[1], (B,)),
    "freqz to the end": (lambda of, b: of.freqz(b, worN=9, include_nyquist=True, fs=3.0)[1], (B,)),
    "freqz at": (lambda of, b, a, w: of.freqz(b, a, w, fs=4.0)[1], (B, A, np.array([0.1, 0.5, 1.5]))),
    "freqs": (lambda of, b, a, w: of.freqs(b, a, w)[1], (B, A, np.array([0.1, 0.5, 1.5]))),
    "freqz_zpk": (lambda of, z, p, k: of.freqz_zpk(z, p, k, 8)[1], (np.array([0.5, -1.0]), Z / 4, np.array(0.7))),
    "freqz_sos": (lambda of, sos: of.freqz_sos(sos, 8)[1], (SOS,)),
    "zpk2tf": (lambda of, z, p, k: np.concatenate(of.zpk2tf(z, p, k)) if isinstance(of.zpk2tf(z, p, k)[0], np.ndarray)
               else pnp.concatenate(of.zpk2tf(z, p, k)), (Z[:2], Z, np.array(0.7))),
}  # fmt: skip


@pytest.mark.parametrize("name", RESPONSES)
def test_responses(name: str) -> None:
    call, args = RESPONSES[name]
    if name == "freqz_sos" and not hasattr(signal, name):
        pytest.skip("SciPy has it from 1.15 on")
    check_mirror(call, mirror, signal, *args, smooth=() if name == "freqz_sos" else None)


DESIGNS = {
    "butter": lambda of, w, *options: of.butter(3, w, *options),
    "cheby1": lambda of, w, *options: of.cheby1(4, 0.5, w, *options),
    "cheby2": lambda of, w, *options: of.cheby2(4, 30, w, *options),
    "ellip": lambda of, w, *options: of.ellip(3, 0.5, 30, w, *options),
    "bessel": lambda of, w, *options: of.bessel(3, w, *options),
    "iirfilter": lambda of, w, *options: of.iirfilter(3, w, None, 25, *options[:2], "cheby2"),
}


@pytest.mark.one_in(4)
@thinned(2, name=list(DESIGNS), band=["low", "high", "band", "stop"])
def test_designs(name: str, band: str) -> None:
    """Each design in two bands, each band of three designs: a band is made of what a design is for low frequencies."""
    w = np.array(0.3) if band in ("low", "high") else np.array([0.2, 0.45])
    join = lambda found: np.concatenate(found) if isinstance(found[0], np.ndarray) else pnp.concatenate(found)  # noqa: E731
    check_mirror(lambda of, w: join(DESIGNS[name](of, w, band)), mirror, signal, w, rtol=1e-9, slope=1e-5)
    wanted = DESIGNS[name](signal, 3 * w, band, True)
    found = primad.jit(lambda w: DESIGNS[name](mirror, w, band, True))(3 * w)
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9 * np.max(np.abs(theirs)))
    if name == "butter":
        rates = primad.jit(lambda w: mirror.butter(3, 100 * w, band, fs=200.0, output="zpk"))(w)
        for ours, theirs in zip(rates, signal.butter(3, w, band, output="zpk"), strict=True):
            key = lambda roots: np.lexsort((np.imag(roots).round(9), np.real(roots).round(9)))  # noqa: E731
            ours, theirs = np.atleast_1d(ours), np.atleast_1d(theirs)
            np.testing.assert_allclose(ours[key(ours)], theirs[key(theirs)], rtol=1e-9, atol=1e-12)


def test_a_filter_of_a_long_signal_is_one_loop() -> None:
    few, many = (primad.trace(lambda x: mirror.lfilter(B, A, x))(np.ones(count)) for count in (50, 5000))
    assert len(many.nodes) == len(few.nodes)


def test_what_is_plain_is_scipys_own() -> None:
    recorded = set(mirror.__all__) - set(mirror.PLAIN)
    assert recorded == RECORDED["scipy.signal"]
    assert set(mirror.PLAIN) <= set(signal.__all__) and mirror.windows is signal.windows
    for name in (recorded & set(dir(signal))) - {"sosfreqz"}:  # which says none of its parameters
        ours, scipys = (list(inspect.signature(getattr(of, name)).parameters) for of in (mirror, signal))
        assert ours == scipys, name


def test_scipys_own_functions_name_these() -> None:
    for call, name in (
        (lambda x: signal.lfilter(B, A, x), "lfilter"), (lambda x: signal.convolve(x, x), "convolve"),
        (lambda x: signal.welch(x)[1], "welch"), (lambda x: signal.savgol_filter(x, 5, 2), "savgol_filter"),
        (lambda x: signal.butter(3, x[0]), "butter"), (lambda x: signal.freqz(x)[1], "freqz"),
    ):  # fmt: skip
        with pytest.raises(primad.PrimadError, match=rf"call primad\.scipy\.signal\.{name}"):
            primad.trace(call)(X)
    with pytest.raises(AttributeError, match=r"zpk2tf, and freqz_zpk"):
        getattr(mirror, "zpk2sos")  # noqa: B009


REFUSED = [
    lambda x: mirror.convolve(x, IMAGE), lambda x: mirror.convolve(x, X, "odd"),
    lambda x: mirror.fftconvolve(x, X, "odd"),
    lambda x: mirror.convolve(x, X, method="odd"), lambda x: mirror.convolve2d(x, X),
    lambda x: mirror.lfilter(x, A, X, zi=Z),
    lambda x: mirror.convolve2d(x[:, None], IMAGE, boundary="odd"), lambda x: mirror.sosfilt(x, X),
    lambda x: mirror.convolve(x[:, None], IMAGE, "valid"), lambda x: mirror.sosfilt(SOS, x, zi=Z),
    lambda x: mirror.filtfilt(B, A, x, method="gust"), lambda x: mirror.filtfilt(B, A, x, padtype="mean"),
    lambda x: mirror.filtfilt(B, A, x[:5]), lambda x: mirror.savgol_filter(x, 31, 2),
    lambda x: mirror.detrend(x, bp=99),
    lambda x: mirror.savgol_filter(x, 5, 2, mode="odd"), lambda x: mirror.detrend(x, type="odd"),
    lambda x: mirror.resample(x, 5, domain="odd"), lambda x: mirror.resample(x, 5, window=Z),
    lambda x: mirror.hilbert(1j * x),
    lambda x: mirror.hilbert(x, 0), lambda x: mirror.welch(x, window=IMAGE), lambda x: mirror.welch(x, noverlap=999),
    lambda x: mirror.welch(x, scaling="odd"), lambda x: mirror.welch(x, average="odd"),
    lambda x: mirror.stft(x, boundary="none"),
    lambda x: mirror.stft(x, scaling="density"), lambda x: mirror.spectrogram(x, mode="odd"), lambda x: mirror.istft(x),
    lambda x: mirror.istft(x[None], scaling="odd"), lambda x: mirror.istft(x[None], nperseg=3, noverlap=3),
    lambda x: mirror.freqz(x[None]), lambda x: mirror.freqs(x, A), lambda x: mirror.freqz_sos(x),
    lambda x: mirror.butter(3, x[0], output="sos"), lambda x: mirror.butter(3, x[:2]),
    lambda x: mirror.butter(3, x[0], "odd"),
    lambda x: mirror.iirfilter(3, x[:2], ftype="odd"), lambda x: mirror.lfilter(x[None], A, X),
    lambda x: mirror.welch(x, window=np.ones(99)), lambda x: mirror.sosfiltfilt(x, X),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(REFUSED)))
@pytest.mark.filterwarnings("ignore:nperseg")
def test_what_is_refused(number: int) -> None:
    with pytest.raises(primad.PrimadError):
        primad.trace(REFUSED[number])(X)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("shapes", [((1,), (4,)), ((4,), (1,)), ((1, 4), (1, 3)), ((1, 3), (3, 1)), ((1, 1), (2, 2)),
                                    ((0,), (3,)), ((3,), (0,))])  # fmt: skip
def test_convolutions_along_axes_of_one_or_no_element(shapes: Any, mode: str) -> None:
    x, y = (RNG.normal(size=shape) for shape in shapes)
    for name in ("fftconvolve", "oaconvolve"):
        wanted = getattr(signal, name)(x, y, mode)
        found = primad.jit(lambda x, y, name=name: getattr(mirror, name)(x, y, mode))(x, y)
        assert found.shape == wanted.shape and np.allclose(found, wanted)


def test_arrays_of_which_neither_is_in_the_other_have_no_valid_part() -> None:
    for method in ("auto", "direct", "fft"):
        with pytest.raises(primad.ShapeError, match="neither in the other"):
            primad.jit(lambda x, m=method: mirror.convolve(x, np.ones((3, 1)), "valid", m))(np.ones((1, 4)))


def test_smoothing_refuses_complex_signals_of_which_scipy_drops_a_part() -> None:
    def both(x: Any) -> Any:
        return mirror.savgol_filter(x.real, 5, 2) + 1j * mirror.savgol_filter(x.imag, 5, 2)

    z = X + 1j * X[::-1]
    with pytest.raises(primad.DomainError, match="drops its imaginary part"):
        primad.jit(lambda x: mirror.savgol_filter(x, 5, 2))(z)
    assert np.allclose(primad.jit(both)(z).imag, signal.savgol_filter(X[::-1], 5, 2))
