//! Trees of the TensorDict format as plain Python values, which `packstone.tensordict` makes objects of.
//!
//! ```text
//! ("leaf", dtype, shape, place)                              ("nested", dtype, [parts, rank], sizes, elements)
//! ("tensordict", batch size, names, device, [(key, node)])   ("value", class, batch size, value)
//! ("stack", batch size, dim, device, values)                 ("lazy", batch size, dim, name, [member])
//! ("class", class, [(field, value)], node)                   ("sub", index, node)     ("view", operation, arguments, node)
//! ("container", class, batch size, name of a Python class)   ("pickled", file)
//! place    (file or None for the archive, offset, bytes), or a buffer of what is packed
//! ```
//!
//! Trees to be saved have the same form, with an array of bytes for a place, and neither views nor pickles.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use packstone::formats::tensordict::options::{TreeOptions, method};
use packstone::formats::tensordict::parts::archive::ArchiveStore;
use packstone::formats::tensordict::parts::class::Class;
use packstone::formats::tensordict::parts::files::Files;
use packstone::formats::tensordict::parts::folder::FolderStore;
use packstone::formats::tensordict::parts::index::Index;
use packstone::formats::tensordict::parts::node::{
    Bytes, FieldFiles, FieldValue, LazyStack, Leaf, NestedTensor, Node, NonTensor, NonTensorStack,
    StackValues, TensorClass, TensorDict,
};
use packstone::formats::tensordict::parts::store::Store;
use packstone::formats::tensordict::parts::tree::Tree;
use packstone::formats::tensordict::parts::view::ViewOp;
use packstone::formats::tensordict::parts::{pack as packing, save as saving};
use packstone::formats::tensordict::schema;
use packstone::json::{Object, Value};
use packstone::{Limits, Place, Result, RootMut, site};
use packstone_container::pickle::Class as Container;
use packstone_io::Buf;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::buffer::{self, Buffer};
use crate::columns;
use crate::failure::OrRaise;
use crate::operations::Progressed;
use crate::{archives, values, watch};

/// A tree that was read, and the archive that it was read from.
struct Reading {
    tree: Tree,
    archive: Option<Buf>,
}

impl Reading {
    fn open(path: &Path, robust_key: bool) -> Result<Self> {
        let (root, limits) = (site::root(path)?, Limits::default());
        let options = TreeOptions::default().with_limits(limits).with_robust_key(robust_key);
        let (store, archive): (Arc<dyn Store>, _) = match root.sole_file().cloned() {
            None => (Arc::new(FolderStore::new(root)), None),
            Some(file) => {
                let bytes = root.read(&file)?;
                let store = ArchiveStore::open(bytes.clone(), file.name(), &limits)?;
                (Arc::new(store), Some(bytes))
            }
        };
        Ok(Self { tree: Tree::load(store, &options)?, archive })
    }

    fn node<'py>(&self, py: Python<'py>, node: &Node) -> PyResult<Bound<'py, PyAny>> {
        let made = match node {
            Node::Leaf(Leaf { dtype, shape, data }) => {
                ("leaf", torch(dtype), shape, self.place(py, data)?).into_pyobject(py)?
            }
            Node::NestedTensor(nested) => {
                let NestedTensor { dtype, extent, sizes, data } = nested;
                let shapes = py.detach(|| nested.shapes()).or_raise(py)?;
                let len = shapes.ends.last().copied().unwrap_or(0);
                let data = match data {
                    // Nothing is missing where there is nothing.
                    Bytes::Faulty(_) => Bytes::Given(Buf::default()),
                    Bytes::Stored { file, .. } => {
                        Bytes::Stored { file: Arc::clone(file), len: len as u64 }
                    }
                    given => given.clone(),
                };
                let (sizes, data) = (self.place(py, sizes)?, self.place(py, &data)?);
                let made = ("nested", torch(dtype), extent, sizes, data);
                return Ok(made.into_pyobject(py)?.into_any());
            }
            Node::TensorDict(TensorDict { batch_size, device, names, entries, .. }) => {
                let entries = entries.iter().map(|(key, node)| Ok((key, self.node(py, node)?)));
                let entries = entries.collect::<PyResult<Vec<_>>>()?;
                let made = ("tensordict", batch_size, names, device, entries);
                return Ok(made.into_pyobject(py)?.into_any());
            }
            Node::NonTensor(NonTensor { class, batch_size, value, files, .. }) => {
                if let FieldValue::Container(found) = value {
                    let made = ("container", class.name(), batch_size, found.name());
                    return Ok(made.into_pyobject(py)?.into_any());
                }
                let Some(value) = field(py, value)? else {
                    let file = files.pickle.as_ref().map(|file| file.path());
                    return Ok(("pickled", file).into_pyobject(py)?.into_any());
                };
                ("value", class.name(), batch_size, value).into_pyobject(py)?
            }
            Node::NonTensorStack(NonTensorStack {
                batch_size, stack_dim, device, values, ..
            }) => {
                let values = match values {
                    StackValues::Json(values) => values::json(py, &values.clone().into())?,
                    StackValues::Members(members) => {
                        return self.stack(py, batch_size, *stack_dim, &None, members);
                    }
                    StackValues::Faulty(fault) => return Err(fault.error()).or_raise(py),
                    StackValues::Pickled(file) => {
                        return Ok(("pickled", file.path()).into_pyobject(py)?.into_any());
                    }
                    other => return Err(unknown(other)),
                };
                let made = ("stack", batch_size, *stack_dim, device, values);
                return Ok(made.into_pyobject(py)?.into_any());
            }
            Node::LazyStack(LazyStack {
                batch_size, stack_dim, stack_dim_name, members, ..
            }) => {
                return self.stack(py, batch_size, *stack_dim, stack_dim_name, members);
            }
            Node::SubTensorDict(sub) => {
                let source = self.node(py, &sub.source)?;
                return Ok(("sub", index(py, &sub.index)?, source).into_pyobject(py)?.into_any());
            }
            Node::LazyView(view) => {
                let arguments: Vec<i64> = match &view.op {
                    ViewOp::Permute(list) | ViewOp::View(list) => list.clone(),
                    ViewOp::Transpose(one, other) => vec![*one, *other],
                    ViewOp::Unsqueeze(dim) => vec![*dim],
                    ViewOp::Squeeze(dim) => dim.iter().copied().collect(),
                };
                let source = self.node(py, &view.source)?;
                ("view", view.op.name(), arguments, source).into_pyobject(py)?
            }
            Node::TensorClass(TensorClass { class, fields, tensordict, .. }) => {
                let fields = fields.iter().map(|(name, value)| Ok((name, field(py, value)?)));
                let fields = fields.collect::<PyResult<Vec<_>>>()?;
                ("class", class.to_string(), fields, self.node(py, tensordict)?)
                    .into_pyobject(py)?
            }
            Node::Broken(fault) => return Err(fault.error()).or_raise(py),
            other => return Err(unknown(other)),
        };
        Ok(made.into_any())
    }

    fn stack<'py>(
        &self,
        py: Python<'py>,
        batch_size: &[u64],
        dim: u64,
        name: &Option<String>,
        members: &[Node],
    ) -> PyResult<Bound<'py, PyAny>> {
        let members = members.iter().map(|member| self.node(py, member));
        let members = PyList::new(py, members.collect::<PyResult<Vec<_>>>()?)?;
        Ok(("lazy", batch_size, dim, name, members).into_pyobject(py)?.into_any())
    }

    /// Where bytes lie, so that they can be mapped; or the bytes.
    fn place<'py>(&self, py: Python<'py>, bytes: &Bytes) -> PyResult<Bound<'py, PyAny>> {
        if let (None, Bytes::Stored { file, len }) = (&self.archive, bytes) {
            return Ok((file.path(), 0u64, len).into_pyobject(py)?.into_any());
        }
        let found = py.detach(|| bytes.open()).or_raise(py)?;
        let inside = self.archive.as_ref().and_then(|archive| {
            let offset = found.as_ptr().addr().checked_sub(archive.as_ptr().addr())?;
            (offset.checked_add(found.len())? <= archive.len()).then_some(offset)
        });
        match inside {
            Some(offset) => {
                let none: Option<&str> = None;
                Ok((none, offset, found.len()).into_pyobject(py)?.into_any())
            }
            None => Ok(Bound::new(py, Buffer::aligned(found, 16, false).or_raise(py)?)?.into_any()),
        }
    }
}

fn torch(dtype: &packstone::model::DType) -> String {
    let name = schema::torch_name(dtype);
    name.strip_prefix("torch.").unwrap_or(&name).to_owned()
}

/// A value; none for what is in a pickle.
fn field<'py>(py: Python<'py>, value: &FieldValue) -> PyResult<Option<Bound<'py, PyAny>>> {
    match value {
        FieldValue::Json(value) => values::json(py, value).map(Some),
        FieldValue::Faulty(fault) => Err(fault.error()).or_raise(py),
        _ => Ok(None),
    }
}

fn index<'py>(py: Python<'py>, found: &Index) -> PyResult<Bound<'py, PyAny>> {
    Ok(match found {
        Index::At(at) => ("at", at).into_pyobject(py)?.into_any(),
        Index::NewAxis => ("new",).into_pyobject(py)?.into_any(),
        Index::Ellipsis => ("ellipsis",).into_pyobject(py)?.into_any(),
        Index::Slice { start, stop, step } => {
            ("slice", start, stop, step).into_pyobject(py)?.into_any()
        }
        Index::Positions { shape, at } => ("positions", shape, at).into_pyobject(py)?.into_any(),
        Index::Range { start, stop, step } => {
            ("range", start, stop, step).into_pyobject(py)?.into_any()
        }
        Index::Mask { shape, flags } => ("mask", shape, flags).into_pyobject(py)?.into_any(),
        Index::Tuple(parts) => {
            let parts = parts.iter().map(|part| index(py, part)).collect::<PyResult<Vec<_>>>()?;
            ("tuple", parts).into_pyobject(py)?.into_any()
        }
    })
}

fn unknown(found: &dyn std::fmt::Debug) -> PyErr {
    PyTypeError::new_err(format!("expected a node that Python has a form for, found {found:?}"))
}

/// The tree at a path.
#[pyfunction]
#[pyo3(name = "_load_tree")]
pub(crate) fn load_tree(py: Python<'_>, path: PathBuf, robust_key: bool) -> PyResult<Py<PyAny>> {
    let reading = py.detach(|| Reading::open(&path, robust_key)).or_raise(py)?;
    Ok(reading.node(py, &reading.tree.root)?.unbind())
}

/// Saves a tree as a new folder or archive.
#[pyfunction]
#[pyo3(name = "_save_tree")]
#[expect(clippy::too_many_arguments, reason = "keywords")]
pub(crate) fn save_tree<'py>(
    py: Python<'py>,
    tree: &Bound<'py, PyTuple>,
    target: PathBuf,
    archive: bool,
    compression: &str,
    replace: bool,
    progress: Progressed<'py>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let method = method(compression).or_raise(py)?;
    let options = archives::saving(threads).with_method(method).with_replace(replace);
    let node = node(tree.as_any(), Limits::default().depth)?;
    let start = Instant::now();
    let done = watch::run(py, progress.as_ref(), "B", move |progress| {
        let files = Files::of(&node, &options)?;
        let (folder, name) = if replace { site::file(&target) } else { site::new_file(&target) }?;
        let folder: Arc<dyn RootMut> = Arc::new(folder);
        match archive {
            true => packing::write(&folder, &name, files, &options, Some(progress)),
            false => saving::write(&folder, &name, files, &options, Some(progress)),
        }
    })?;
    archives::saved(py, &done, start)
}

fn node(tree: &Bound<'_, PyAny>, depth: usize) -> PyResult<Node> {
    let Some(depth) = depth.checked_sub(1) else {
        return Err(PyValueError::new_err("expected fewer nodes inside one another, found more"));
    };
    let kind: String = tree.get_item(0)?.extract()?;
    let at = |place: usize| tree.get_item(place);
    let json = |place: usize| {
        let missing = || PyTypeError::new_err("expected a value that JSON holds");
        columns::json(&at(place)?)?.ok_or_else(missing)
    };
    let dtype = |place: usize| -> PyResult<packstone::model::DType> {
        let name: String = at(place)?.extract()?;
        schema::from_torch(&format!("torch.{name}"), &Place::default()).or_raise(tree.py())
    };
    let given = |place: usize| PyResult::Ok(Bytes::Given(buffer::held(&at(place)?)?));
    Ok(match kind.as_str() {
        "leaf" => Node::Leaf(Leaf { dtype: dtype(1)?, shape: at(2)?.extract()?, data: given(3)? }),
        "nested" => Node::NestedTensor(NestedTensor {
            dtype: dtype(1)?,
            extent: at(2)?.extract()?,
            sizes: given(3)?,
            data: given(4)?,
        }),
        "tensordict" => {
            let entries: Vec<(String, Bound<'_, PyAny>)> = at(4)?.extract()?;
            let entries = entries.into_iter().map(|(key, inner)| Ok((key, node(&inner, depth)?)));
            let mut made = TensorDict::new(at(1)?.extract()?, entries.collect::<PyResult<_>>()?);
            made.names = at(2)?.extract()?;
            made.device = at(3)?.extract()?;
            Node::TensorDict(made)
        }
        "value" | "container" => {
            let class: String = at(1)?.extract()?;
            let value = match kind.as_str() {
                "value" => FieldValue::Json(json(3)?),
                _ => {
                    let name: String = at(3)?.extract()?;
                    let known = Container::ALL.into_iter().find(|known| known.name() == name);
                    FieldValue::Container(known.ok_or_else(|| unknown(&name))?)
                }
            };
            Node::NonTensor(NonTensor {
                class: Class::exported(&class),
                batch_size: at(2)?.extract()?,
                value,
                files: FieldFiles::default(),
                replaced: false,
                mismatch: false,
                document: None,
            })
        }
        "stack" => Node::NonTensorStack(NonTensorStack {
            class: Class::exported("NonTensorStack"),
            batch_size: at(1)?.extract()?,
            stack_dim: at(2)?.extract()?,
            device: at(3)?.extract()?,
            values: StackValues::Json(match json(4)? {
                Value::Array(values) => values,
                other => vec![other],
            }),
            document: None,
        }),
        "lazy" => {
            let members: Vec<Bound<'_, PyAny>> = at(4)?.extract()?;
            let members = members.iter().map(|member| node(member, depth));
            Node::LazyStack(LazyStack {
                class: Class::exported("LazyStackedTensorDict"),
                batch_size: at(1)?.extract()?,
                stack_dim: at(2)?.extract()?,
                stack_dim_name: at(3)?.extract()?,
                members: members.collect::<PyResult<_>>()?,
                document: None,
            })
        }
        "class" => {
            let id: String = at(1)?.extract()?;
            let wrong = || PyValueError::new_err(format!("expected module:name, found {id:?}"));
            let Value::Object(fields) = json(2)? else { return Err(wrong()) };
            Node::TensorClass(TensorClass {
                class: Class::from_id(&id).ok_or_else(wrong)?,
                fields: named(&fields),
                files: FieldFiles::default(),
                replaced: false,
                mismatch: false,
                tensordict: Box::new(node(&at(3)?, depth)?),
                document: None,
            })
        }
        other => return Err(unknown(&other)),
    })
}

fn named(fields: &Object) -> Vec<(String, FieldValue)> {
    let named =
        fields.iter().map(|(name, value)| (name.to_string(), FieldValue::Json(value.clone())));
    named.collect()
}
