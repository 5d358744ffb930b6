//! Arrays of positions in one index: stretched to a common shape, and summed.

use super::axis::product;

/// The sums of arrays, stretched to a common shape.
pub(super) fn broadcast(arrays: &[(Vec<u64>, Vec<u64>)]) -> Result<(Vec<u64>, Vec<u64>), String> {
    let rank = arrays.iter().map(|(shape, _)| shape.len()).max().unwrap_or(0);
    let padded = |shape: &[u64]| {
        let mut out = vec![1; rank - shape.len()];
        out.extend(shape);
        out
    };
    let shapes: Vec<Vec<u64>> = arrays.iter().map(|(shape, _)| padded(shape)).collect();
    let mut common = vec![1u64; rank];
    for shape in &shapes {
        for (to, from) in common.iter_mut().zip(shape) {
            match (*to, *from) {
                (a, b) if a == b || b == 1 => {}
                (1, b) => *to = b,
                (a, b) => {
                    return Err(format!(
                        "expected arrays of one shape, found {a} and {b} in one dimension"
                    ));
                }
            }
        }
    }
    const MOST: u64 = 1 << 26;
    let count = product(&common).filter(|n| *n <= MOST);
    let count =
        count.ok_or_else(|| format!("expected at most {MOST} positions, found {common:?}"))?;
    let mut sums = Vec::new();
    for flat in 0..count {
        let mut sum = 0u64;
        for (shape, (_, at)) in shapes.iter().zip(arrays) {
            let (mut rest, mut place, mut step) = (flat, 0u64, 1u64);
            for (len, common) in shape.iter().zip(&common).rev() {
                if *len > 1 {
                    place = place.saturating_add((rest % (*common).max(1)).saturating_mul(step));
                }
                rest /= (*common).max(1);
                step = step.saturating_mul(*len);
            }
            let found = usize::try_from(place).ok().and_then(|place| at.get(place));
            sum = sum.saturating_add(found.copied().unwrap_or(0));
        }
        sums.push(sum);
    }
    Ok((common, sums))
}
