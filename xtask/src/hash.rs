//! A short hash of file contents, for file names and for noticing change: FNV-1a, 64 bits
//! (<http://www.isthe.com/chongo/tech/comp/fnv/>). It guards against staleness, not against malice.

/// The hash of the parts in order, as 16 hexadecimal digits.
pub(crate) fn hex<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut byte = |b: u8| hash = (hash ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3);
    for part in parts {
        // the length keeps ["ab", "c"] and ["a", "bc"] apart
        (part.len() as u64).to_le_bytes().into_iter().for_each(&mut byte);
        part.iter().copied().for_each(&mut byte);
    }
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::hex;

    #[test]
    fn where_parts_end_matters() {
        let (ab, a, b, c) = (b"ab".as_slice(), b"a".as_slice(), b"b".as_slice(), b"c".as_slice());
        assert_ne!(hex([ab, c]), hex([a, b"bc".as_slice()]));
        assert_ne!(hex([a, b]), hex([b, a]));
        assert_eq!(hex([a, b]), hex([a, b]));
        assert_eq!(hex([a]).len(), 16);
    }
}
