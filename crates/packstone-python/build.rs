//! Where extension modules find the interpreter's symbols only when they are loaded, tells the linker so.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
