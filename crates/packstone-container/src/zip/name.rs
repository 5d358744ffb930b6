//! Entry names: UTF-8 where flagged, code page 437 where not.
//!
//! Code page 437 gives every byte a character of its own, so an unflagged name is never lost. Some programs (Info-ZIP
//! among them) write UTF-8 without the flag; [`Archive::find`](super::Archive::find) looks for that spelling too.

/// The characters of bytes 0x80 to 0xff in code page 437.
const UPPER: [char; 128] = [
    'Ç', 'ü', 'é', 'â', 'ä', 'à', 'å', 'ç', 'ê', 'ë', 'è', 'ï', 'î', 'ì', 'Ä', 'Å', 'É', 'æ', 'Æ',
    'ô', 'ö', 'ò', 'û', 'ù', 'ÿ', 'Ö', 'Ü', '¢', '£', '¥', '₧', 'ƒ', 'á', 'í', 'ó', 'ú', 'ñ', 'Ñ',
    'ª', 'º', '¿', '⌐', '¬', '½', '¼', '¡', '«', '»', '░', '▒', '▓', '│', '┤', '╡', '╢', '╖', '╕',
    '╣', '║', '╗', '╝', '╜', '╛', '┐', '└', '┴', '┬', '├', '─', '┼', '╞', '╟', '╚', '╔', '╩', '╦',
    '╠', '═', '╬', '╧', '╨', '╤', '╥', '╙', '╘', '╒', '╓', '╫', '╪', '┘', '┌', '█', '▄', '▌', '▐',
    '▀', 'α', 'ß', 'Γ', 'π', 'Σ', 'σ', 'µ', 'τ', 'Φ', 'Θ', 'Ω', 'δ', '∞', 'φ', 'ε', '∩', '≡', '±',
    '≥', '≤', '⌠', '⌡', '÷', '≈', '°', '∙', '·', '√', 'ⁿ', '²', '■', '\u{a0}',
];

/// Decodes a name that carries no UTF-8 flag.
pub(super) fn from_cp437(raw: &[u8]) -> String {
    let decode = |&byte: &u8| match byte {
        0..0x80 => char::from(byte),
        _ => UPPER.get(usize::from(byte & 0x7f)).copied().unwrap_or('\u{fffd}'),
    };
    raw.iter().map(decode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_its_own_character() {
        let all: Vec<u8> = (0..=255).collect();
        let text = from_cp437(&all);
        let distinct: std::collections::BTreeSet<char> = text.chars().collect();
        assert_eq!(distinct.len(), 256);
        assert!(!text.contains('\u{fffd}'));
    }

    #[test]
    fn known_characters() {
        assert_eq!(from_cp437(b"caf\x82.npy"), "café.npy");
        assert_eq!(from_cp437(&[0x80, 0xc4, 0xe1, 0xfe, 0xff]), "Ç─ß■\u{a0}");
    }
}
