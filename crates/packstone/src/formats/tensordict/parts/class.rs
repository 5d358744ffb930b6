//! The class of a node, from the texts in its document.
//!
//! ```text
//! "_class": "tensordict:TensorDict"                      module:qualname, `tensordict` for what the package exports
//! "_type": "<class 'tensordict._td.TensorDict'>"         str(cls), the module may be private and may have moved
//! ```
//!
//! `_class` decides if it names a known class, else `_type`. Nothing is imported or called by name.

use std::fmt;

/// What a node is, by its class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NodeKind {
    /// `TensorDict`.
    TensorDict,
    /// `LazyStackedTensorDict`.
    LazyStack,
    /// `_SubTensorDict`.
    SubTensorDict,
    /// One of the lazy views.
    LazyView,
    /// `NonTensorData` or `MetaData`, parametrized or not.
    NonTensor,
    /// `NonTensorStack`.
    NonTensorStack,
}

/// A class by its name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Class {
    module: String,
    name: String,
}

/// Classes that the package exports.
const EXPORTED: [(&str, &str, NodeKind); 5] = [
    ("TensorDict", "tensordict._td", NodeKind::TensorDict),
    ("LazyStackedTensorDict", "tensordict._lazy", NodeKind::LazyStack),
    ("NonTensorData", "tensordict.tensorclass", NodeKind::NonTensor),
    ("NonTensorStack", "tensordict.tensorclass", NodeKind::NonTensorStack),
    ("MetaData", "tensordict.tensorclass", NodeKind::NonTensor),
];
/// Classes that it does not.
const PRIVATE: [(&str, &str, NodeKind); 6] = [
    ("_SubTensorDict", "tensordict._td", NodeKind::SubTensorDict),
    ("_PermutedTensorDict", "tensordict._lazy", NodeKind::LazyView),
    ("_TransposedTensorDict", "tensordict._lazy", NodeKind::LazyView),
    ("_ViewedTensorDict", "tensordict._lazy", NodeKind::LazyView),
    ("_UnsqueezedTensorDict", "tensordict._lazy", NodeKind::LazyView),
    ("_SqueezedTensorDict", "tensordict._lazy", NodeKind::LazyView),
];

impl Class {
    /// The class of this qualified name in this module; the module of a class that the package exports is `tensordict`.
    pub fn new(module: impl Into<String>, name: impl Into<String>) -> Self {
        Self { module: module.into(), name: name.into() }
    }

    /// A class that the package exports, such as `TensorDict`.
    pub fn exported(name: &str) -> Self {
        Self::new("tensordict", name)
    }

    /// Reads `module:qualname`.
    pub fn from_id(text: &str) -> Option<Self> {
        let (module, name) = text.split_once(':')?;
        (!module.is_empty() && !name.is_empty()).then(|| Self::new(module, name).settled())
    }

    /// Reads `<class 'module.qualname'>`. Module and name of a nested class cannot be told apart: the last point counts.
    pub fn from_type(text: &str) -> Option<Self> {
        let path = text.strip_prefix("<class '")?.strip_suffix("'>")?;
        let plain = path.split('[').next().unwrap_or(path);
        let dot = plain.rfind('.')?;
        let (module, name) = path.split_at_checked(dot)?;
        let name = name.strip_prefix('.').filter(|name| !name.is_empty())?;
        (!module.is_empty()).then(|| Self::new(module, name).settled())
    }

    /// The module `tensordict` for whatever module of the package an exported class once stood in.
    fn settled(mut self) -> Self {
        if self.in_package() && EXPORTED.iter().any(|(name, ..)| *name == self.name) {
            "tensordict".clone_into(&mut self.module);
        }
        self
    }

    fn in_package(&self) -> bool {
        self.module == "tensordict" || self.module.starts_with("tensordict.")
    }

    /// The kind of node that this class makes, where it is one of the package's own.
    pub fn kind(&self) -> Option<NodeKind> {
        if !self.in_package() {
            return None;
        }
        let bare = match self.name.split_once('[') {
            Some((bare @ "MetaData", _)) => bare,
            _ => self.name.as_str(),
        };
        EXPORTED.iter().chain(&PRIVATE).find(|(name, ..)| *name == bare).map(|(.., kind)| *kind)
    }

    /// The name alone: what stands as `type` in the entry of a collection.
    pub fn name(&self) -> &str {
        self.name
            .rsplit_once('.')
            .filter(|_| !self.name.contains('['))
            .map_or(&self.name, |(_, name)| name)
    }

    /// `str(cls)` as it stands in `_type`.
    pub fn type_text(&self) -> String {
        let home =
            EXPORTED.iter().find(|(name, ..)| self.module == "tensordict" && *name == self.name);
        format!(
            "<class '{}.{}'>",
            home.map_or(self.module.as_str(), |(_, home, _)| home),
            self.name
        )
    }
}

/// `module:qualname` as it stands in `_class`.
impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.module, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_texts_lead_to_one_class_and_back() {
        for (id, text, kind) in [
            (
                "tensordict:TensorDict",
                "<class 'tensordict._td.TensorDict'>",
                Some(NodeKind::TensorDict),
            ),
            (
                "tensordict:LazyStackedTensorDict",
                "<class 'tensordict._lazy.LazyStackedTensorDict'>",
                Some(NodeKind::LazyStack),
            ),
            (
                "tensordict:NonTensorStack",
                "<class 'tensordict.tensorclass.NonTensorStack'>",
                Some(NodeKind::NonTensorStack),
            ),
            (
                "tensordict._td:_SubTensorDict",
                "<class 'tensordict._td._SubTensorDict'>",
                Some(NodeKind::SubTensorDict),
            ),
            (
                "tensordict._lazy:_PermutedTensorDict",
                "<class 'tensordict._lazy._PermutedTensorDict'>",
                Some(NodeKind::LazyView),
            ),
            (
                "tensordict.tensorclass:MetaData[str]",
                "<class 'tensordict.tensorclass.MetaData[str]'>",
                Some(NodeKind::NonTensor),
            ),
            ("__main__:Local", "<class '__main__.Local'>", None),
            ("os:system", "<class 'os.system'>", None),
        ] {
            let class = Class::from_type(text).unwrap();
            assert_eq!(class.to_string(), id);
            assert_eq!(Class::from_id(id), Some(class.clone()));
            assert_eq!(class.type_text(), text);
            assert_eq!(class.kind(), kind, "{id}");
        }
    }

    #[test]
    fn a_class_that_moved_inside_the_package_is_still_known() {
        let old = Class::from_type("<class 'tensordict.tensordict.TensorDict'>").unwrap();
        assert_eq!(old, Class::exported("TensorDict"));
        assert_eq!(Class::from_type("<class 'nottensordict.TensorDict'>").unwrap().kind(), None);
    }

    #[test]
    fn names_of_nested_and_parametrized_classes() {
        assert_eq!(Class::from_id("m:Outer.Inner").unwrap().name(), "Inner");
        assert_eq!(Class::from_id("m:MetaData[a.b]").unwrap().name(), "MetaData[a.b]");
        for text in
            ["", "TensorDict", "<class 'x'>", "<class ''>", "<class '.'>", "<class 'a.'>", "int"]
        {
            assert_eq!(Class::from_type(text), None, "{text}");
        }
        assert_eq!(Class::from_id(":x"), None);
    }
}
