//! NumPy .npy headers and arrays.
