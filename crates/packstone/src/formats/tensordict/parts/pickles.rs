//! The pickles that are written: container classes alone, which are constants.
//!
//! ```text
//! other.pickle      pickle.dumps({"data": dict}), protocol 4
//! json_types.json   {"types": {"data": "dict"}, "pickle_sha256": "8ad0…"}
//! ```

use packstone_container::digest::{Algorithm, digest_hex};
use packstone_container::json::{self, Object, Style, Value};

use super::node::Container;

/// `other.pickle` of a value that is this class.
pub fn of(class: Container) -> &'static [u8] {
    match class {
        Container::Dict => {
            b"\x80\x04\x95\x1f\0\0\0\0\0\0\0}\x94\x8c\x04data\x94\x8c\x08builtins\x94\x8c\x04dict\x94\x93\x94s."
        }
        Container::List => {
            b"\x80\x04\x95\x1f\0\0\0\0\0\0\0}\x94\x8c\x04data\x94\x8c\x08builtins\x94\x8c\x04list\x94\x93\x94s."
        }
        Container::Tuple => {
            b"\x80\x04\x95\x20\0\0\0\0\0\0\0}\x94\x8c\x04data\x94\x8c\x08builtins\x94\x8c\x05tuple\x94\x93\x94s."
        }
        Container::OrderedDict => {
            b"\x80\x04\x95\x29\0\0\0\0\0\0\0}\x94\x8c\x04data\x94\x8c\x0bcollections\x94\x8c\x0bOrderedDict\x94\x93\x94s."
        }
    }
}

/// `json_types.json` beside it.
pub fn types(class: Container) -> String {
    let mut named = Object::new();
    named.insert("data", class.name());
    let mut out = Object::new();
    out.insert("types", Value::Object(named));
    out.insert("pickle_sha256", digest_hex(Algorithm::Sha256, of(class)));
    json::write(&Value::Object(out), &Style::PYTHON)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pickles_are_those_of_the_library() {
        for (class, sum) in [
            (Container::Dict, "8ad074815aa2d5068b9cc8e2839e8662e5fdfab908a4bec4214324cadc5bb6b9"),
            (Container::List, "7e87f5770f4089df211f84ed787e849d7b2fa4c037d3369913ada6d4635477cb"),
            (Container::Tuple, "03f155a43a53829ac4d97e29efed8a7ad0d10cd54cc3af8955d38e0eab5d177a"),
            (
                Container::OrderedDict,
                "88e168abf79c09d75d24b2ddb9343fe5b555bd29c6767adbc4f06b65ae2622f7",
            ),
        ] {
            assert_eq!(digest_hex(Algorithm::Sha256, of(class)), sum);
            let name = class.name();
            assert_eq!(
                types(class),
                format!("{{\"types\": {{\"data\": \"{name}\"}}, \"pickle_sha256\": \"{sum}\"}}")
            );
        }
    }
}
