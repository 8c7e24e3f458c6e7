//! The bytes of values, and their reader.

/// The values of a function's arguments, or of its result.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Values {
    pub(crate) bytes: Vec<u8>,
    pub(crate) size: usize,
}

impl Values {
    /// The bytes, as the crate's documentation describes them.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Roughly the bytes of these values as JSON, with the names of fields and cases: what they take where they are kept.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// The same values behind a string.
    ///
    /// # Errors
    /// When the string has 4 GiB or more.
    pub fn behind(&self, text: &str) -> Result<Self, Malformed> {
        let mut bytes = Vec::with_capacity(LENGTH + text.len() + self.bytes.len());
        append_text(&mut bytes, text)?;
        bytes.extend(&self.bytes);
        let size = PLAIN + text.len() + self.size;
        Ok(Self { bytes, size })
    }

    /// Keep no more memory than these values need.
    pub fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
    }
}

/// The bytes of a length or a count.
pub(crate) const LENGTH: usize = size_of::<u32>();

/// What each value counts in [`Values::size`] beside strings and names: a number, or braces, quotation marks and a comma.
pub(crate) const PLAIN: usize = 12;

/// Bytes that are not those of a value of the expected type, or would not be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the bytes of a value do not fit its type")]
pub struct Malformed;

/// Append a length or a count.
pub(crate) fn append_length(bytes: &mut Vec<u8>, length: usize) -> Result<(), Malformed> {
    let length = u32::try_from(length).map_err(|_| Malformed)?;
    bytes.extend(length.to_le_bytes());
    Ok(())
}

/// Append a string.
pub(crate) fn append_text(bytes: &mut Vec<u8>, text: &str) -> Result<(), Malformed> {
    append_length(bytes, text.len())?;
    bytes.extend(text.as_bytes());
    Ok(())
}

/// Append the index of a case in so many bytes.
pub(crate) fn append_case(bytes: &mut Vec<u8>, case: u32, size: usize) {
    bytes.extend(&case.to_le_bytes()[..size]);
}

/// Reads values from their beginning.
pub(crate) struct Reader<'v>(&'v [u8]);

impl<'v> Reader<'v> {
    pub fn of(values: &'v Values) -> Self {
        Self(&values.bytes)
    }

    /// The next bytes.
    pub fn take(&mut self, length: usize) -> Result<&'v [u8], Malformed> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    /// The next bytes, so many.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(Malformed)?;
        self.0 = rest;
        Ok(*taken)
    }

    /// A length or a count.
    pub fn length(&mut self) -> Result<usize, Malformed> {
        let length = u32::from_le_bytes(self.array()?);
        usize::try_from(length).map_err(|_| Malformed)
    }

    /// A string.
    pub fn text(&mut self) -> Result<&'v str, Malformed> {
        let length = self.length()?;
        str::from_utf8(self.take(length)?).map_err(|_| Malformed)
    }

    /// The UTF-8 of a string.
    pub fn utf8(&mut self) -> Result<&'v [u8], Malformed> {
        let length = self.length()?;
        self.take(length)
    }

    /// The index of a case, in so many bytes.
    pub fn case(&mut self, size: usize) -> Result<u32, Malformed> {
        let mut bytes = [0; LENGTH];
        let low = bytes.get_mut(..size).ok_or(Malformed)?;
        low.copy_from_slice(self.take(size)?);
        Ok(u32::from_le_bytes(bytes))
    }

    /// There is nothing more.
    pub fn ends(&self) -> Result<(), Malformed> {
        self.0.is_empty().then_some(()).ok_or(Malformed)
    }
}
