"""Program ops: ops that hold closed programs, among them every derivative that is recorded inside another trace."""
