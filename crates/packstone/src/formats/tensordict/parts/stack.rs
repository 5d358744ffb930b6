//! The values of a NonTensorStack: nested lists in the order of indices.

use packstone_container::json::Value;

/// The batch size that nested lists stand for, as the library reads them: lists of one length are one more dimension,
/// also where the values themselves were lists.
pub fn batch_size(values: &[Value]) -> Vec<u64> {
    let mut sizes = vec![values.len() as u64];
    let mut level: Vec<&Value> = values.iter().collect();
    while let Some(length) = level.first().and_then(|value| value.as_array()).map(<[Value]>::len) {
        let even = |value: &&Value| value.as_array().is_some_and(|items| items.len() == length);
        if !level.iter().all(even) {
            break;
        }
        sizes.push(length as u64);
        level = level.into_iter().filter_map(Value::as_array).flatten().collect();
    }
    sizes
}

/// The values at depth `rank`, one after another.
pub fn flatten(values: &[Value], rank: usize) -> Vec<&Value> {
    let mut level: Vec<&Value> = values.iter().collect();
    for _ in 1..rank {
        level = level.into_iter().filter_map(Value::as_array).flatten().collect();
    }
    level
}

#[cfg(test)]
mod tests {
    use packstone_container::json;

    use super::*;

    #[test]
    fn lists_of_one_length_are_dimensions() {
        for (text, want) in [
            ("[]", &[0][..]),
            ("[1,2]", &[2]),
            ("[[1,2],[3,4]]", &[2, 2]),
            ("[[1,2],[3]]", &[2]),
            ("[[],[]]", &[2, 0]),
            ("[[[1],[2]],[[3],[4]]]", &[2, 2, 1]),
            ("[[[1],[2]],[[3],4]]", &[2, 2]),
            ("[{\"k\":[1]},null]", &[2]),
        ] {
            let value = json::read(text.as_bytes(), &json::ReadOptions::default()).unwrap().value;
            let values = value.as_array().unwrap();
            assert_eq!(batch_size(values), want, "{text}");
            assert_eq!(
                flatten(values, want.len()).len() as u64,
                want.iter().product::<u64>(),
                "{text}"
            );
        }
    }
}
