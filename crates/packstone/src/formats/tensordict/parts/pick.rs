//! Which batch elements of its source an index or a view shows, in which order.
//!
//! ```text
//! source batch [4, 2]  ── [2:, [1, 0]] ──►  shape [2, 2], element (i, j) is 4 + 2 i + listed[j]
//! ```
//!
//! Every operation here is separable: the position in the source is a base and, for each axis, a multiple of the
//! coordinate or a listed number. Nothing of the size of the batch is ever held in memory.

mod arrays;
mod axis;
mod indexed;
mod viewed;

use axis::{Axis, product};

/// Elements of a batch in some order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pick {
    shape: Vec<u64>,
    base: u64,
    axes: Vec<Axis>,
}

impl Pick {
    fn of(base: u64, axes: Vec<Axis>) -> Result<Self, String> {
        let shape: Vec<u64> = axes.iter().map(Axis::len).collect();
        product(&shape).ok_or("expected an index whose elements fit 64 bits")?;
        Ok(Self { shape, base, axes })
    }

    /// The batch size that is left.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// The position in the source of the element at `position`, both in C order.
    pub fn at(&self, position: u64) -> u64 {
        let (mut rest, mut found) = (position, self.base);
        for axis in self.axes.iter().rev() {
            let len = axis.len().max(1);
            found = found.saturating_add(axis.at(rest % len));
            rest /= len;
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use packstone_container::json;

    use super::super::index::Index;
    use super::super::view::ViewOp;
    use super::*;

    fn positions(pick: &Pick) -> Vec<u64> {
        (0..product(pick.shape()).unwrap()).map(|i| pick.at(i)).collect()
    }

    fn index(batch: &[u64], text: &str) -> Result<(Vec<u64>, Vec<u64>), String> {
        let value = json::read(text.as_bytes(), &json::ReadOptions::default()).unwrap().value;
        let pick = Pick::index(batch, &Index::parse(&value).unwrap())?;
        Ok((pick.shape().to_vec(), positions(&pick)))
    }

    #[test]
    fn indices_pick_what_torch_picks() {
        // torch.arange(12).view(3, 4)[…] and torch.arange(12).view(3, 2, 2)[…]
        for (batch, text, shape, want) in [
            (&[3, 4][..], "[1]", &[4][..], &[4, 5, 6, 7][..]),
            (&[3, 4], "-1", &[4], &[8, 9, 10, 11]),
            (
                &[3, 4],
                r#"[["slice",{"start":1,"stop":9,"step":null}],["slice",{"start":null,"stop":-1,"step":2}]]"#,
                &[2, 2],
                &[4, 6, 8, 10],
            ),
            (&[3, 4], "null", &[1, 3, 4], &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]),
            (&[3, 4], r#"[["ellipsis"],2]"#, &[3], &[2, 6, 10]),
            (&[3, 4], r#"[["tensor",[2,0,2],"cpu"],1]"#, &[3], &[9, 1, 9]),
            (&[3, 4], r#"[["tensor",[2,0],"cpu"],["tensor",[1,3],"cpu"]]"#, &[2], &[9, 3]),
            (
                &[3, 4],
                r#"[["tensor",[[2],[0]],"cpu"],["tensor",[1,3],"cpu"]]"#,
                &[2, 2],
                &[9, 11, 1, 3],
            ),
            (
                &[3, 4],
                r#"["tensor",[true,false,true],"cpu"]"#,
                &[2, 4],
                &[0, 1, 2, 3, 8, 9, 10, 11],
            ),
            (&[2, 2], r#"["tensor",[[true,false],[true,true]],"cpu"]"#, &[3], &[0, 2, 3]),
            (
                &[3, 2, 2],
                r#"[["tensor",[2],"cpu"],["slice",{}],["tensor",[1],"cpu"]]"#,
                &[1, 2],
                &[9, 11],
            ),
            (
                &[3, 2, 2],
                r#"[["slice",{}],["tensor",[1,0],"cpu"]]"#,
                &[3, 2, 2],
                &[2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9],
            ),
            (&[3, 2, 2], r#"[0,["slice",{}],["tensor",[1,0],"cpu"]]"#, &[2, 2], &[1, 0, 3, 2]),
            (&[3, 2, 2], r#"[["tensor",[2,1],"cpu"],0,["tensor",[1,0],"cpu"]]"#, &[2], &[9, 4]),
            (&[3], r#"["range",{"start":0,"stop":3,"step":2}]"#, &[2], &[0, 2]),
            (&[3], r#"["slice",{"start":2,"stop":1}]"#, &[0], &[]),
            (&[0, 2], r#"["slice",{}]"#, &[0, 2], &[]),
            (&[], "[]", &[], &[0]),
        ] {
            assert_eq!(index(batch, text), Ok((shape.to_vec(), want.to_vec())), "{text}");
        }
    }

    #[test]
    fn indices_out_of_range_are_refused() {
        for (batch, text) in [
            (&[3, 4][..], "3"),
            (&[3, 4], "-4"),
            (&[3, 4], "[0,0,0]"),
            (&[3, 4], r#"["tensor",[0,3],"cpu"]"#),
            (&[3, 4], r#"["tensor",[true,false],"cpu"]"#),
            (&[3, 4], r#"["tensor",true,"cpu"]"#),
            (&[3, 4], r#"[["tensor",[0,1],"cpu"],["tensor",[0,1,2],"cpu"]]"#),
            (&[3, 4], r#"["slice",{"step":-1}]"#),
            (&[3, 4], r#"["slice",{"step":0}]"#),
            (&[3, 4], r#"[["ellipsis"],["ellipsis"]]"#),
            (&[3, 4], "[[0],1]"),
            (&[], "0"),
        ] {
            assert!(index(batch, text).is_err(), "{text}");
        }
    }

    #[test]
    fn views_rearrange_batch_dimensions() {
        let view = |batch: &[u64], op: &ViewOp| {
            Pick::view(batch, op).map(|pick| (pick.shape().to_vec(), positions(&pick)))
        };
        for (batch, op, shape, want) in [
            (&[2, 3][..], ViewOp::Permute(vec![1, 0]), &[3, 2][..], &[0, 3, 1, 4, 2, 5][..]),
            (&[2, 3], ViewOp::Permute(vec![-1, 0]), &[3, 2], &[0, 3, 1, 4, 2, 5]),
            (&[2, 1, 3], ViewOp::Transpose(0, -1), &[3, 1, 2], &[0, 3, 1, 4, 2, 5]),
            (&[2, 3], ViewOp::View(vec![3, -1]), &[3, 2], &[0, 1, 2, 3, 4, 5]),
            (&[2, 3], ViewOp::Unsqueeze(-1), &[2, 3, 1], &[0, 1, 2, 3, 4, 5]),
            (&[1, 3, 1], ViewOp::Squeeze(None), &[3], &[0, 1, 2]),
            (&[1, 3, 1], ViewOp::Squeeze(Some(0)), &[3, 1], &[0, 1, 2]),
            (&[2, 3], ViewOp::Squeeze(Some(0)), &[2, 3], &[0, 1, 2, 3, 4, 5]),
        ] {
            assert_eq!(view(batch, &op), Ok((shape.to_vec(), want.to_vec())), "{op:?}");
        }
        for op in [
            ViewOp::Permute(vec![0]),
            ViewOp::Permute(vec![0, 0]),
            ViewOp::Permute(vec![0, 2]),
            ViewOp::Transpose(0, 2),
            ViewOp::View(vec![4]),
            ViewOp::View(vec![-1, -1]),
            ViewOp::View(vec![-2, 3]),
            ViewOp::View(vec![0, -1]),
            ViewOp::Unsqueeze(3),
            ViewOp::Unsqueeze(-4),
            ViewOp::Squeeze(Some(2)),
        ] {
            assert!(view(&[2, 3], &op).is_err(), "{op:?}");
        }
        assert!(Pick::view(&[u64::MAX, 2], &ViewOp::Squeeze(None)).is_err());
    }
}
