"""Spectra of kernel matrices: which eigenvalues exceed a penalty, and a proof that none was missed (KJ 2012, §5.1)."""
