//! Writes HTML. All text is escaped.

/// A page that is being written, with a bound of its length.
pub(super) struct Html {
    written: String,
    /// Bytes that are left of the bound; none when the page is too long.
    left: Option<usize>,
}

impl Html {
    /// An empty page, with a bound of its length in bytes.
    pub fn of_at_most(bytes: usize) -> Self {
        Self {
            written: String::new(),
            left: Some(bytes),
        }
    }

    /// Whether it was longer than its bound.
    pub fn is_too_long(&self) -> bool {
        self.left.is_none()
    }

    /// Add markup of this crate's own, unescaped.
    pub fn raw(&mut self, markup: &str) -> &mut Self {
        self.left = self.left.and_then(|left| left.checked_sub(markup.len()));
        if self.left.is_some() {
            self.written.push_str(markup);
        }
        self
    }

    /// Text, in content or in an attribute in double quotation marks.
    pub fn text(&mut self, text: &str) -> &mut Self {
        let is_special = |c: char| matches!(c, '&' | '<' | '>' | '"' | '\'');
        for part in text.split_inclusive(is_special) {
            let special = part.chars().next_back().filter(|c| is_special(*c));
            let escaped = match special {
                Some('&') => "&amp;",
                Some('<') => "&lt;",
                Some('>') => "&gt;",
                Some('"') => "&quot;",
                Some('\'') => "&#39;",
                _ => "",
            };
            self.raw(part.strip_suffix(is_special).unwrap_or(part));
            self.raw(escaped);
        }
        self
    }

    /// An element of one text.
    pub fn element(&mut self, name: &str, text: &str) -> &mut Self {
        self.raw("<").raw(name).raw(">").text(text);
        self.raw("</").raw(name).raw(">")
    }

    /// A heading that can be linked to.
    pub fn heading(&mut self, name: &str, id: &str, text: &str) -> &mut Self {
        self.raw("<").raw(name).raw(" id=\"").text(id).raw("\">");
        self.text(text).raw("</").raw(name).raw(">")
    }

    /// A literal.
    pub fn code(&mut self, text: &str) -> &mut Self {
        self.element("code", text)
    }

    /// A link. `target` is a path or an anchor of this host, never a URL from a document.
    pub fn link(&mut self, target: &str, text: &str) -> &mut Self {
        self.raw("<a href=\"").text(target).raw("\">");
        self.text(text).raw("</a>")
    }

    /// The mark of a required member.
    pub fn required(&mut self, required: bool) -> &mut Self {
        self.raw(if required { " <b>required</b>" } else { "" })
    }

    /// Paragraphs, parted by empty lines; words in backquotes are literals.
    pub fn prose(&mut self, text: &str) -> &mut Self {
        for paragraph in text.split("\n\n").filter(|p| !p.trim().is_empty()) {
            self.raw("<p>").words(paragraph.trim()).raw("</p>");
        }
        self
    }

    /// Text whose words in backquotes are literals.
    pub fn words(&mut self, text: &str) -> &mut Self {
        for (n, part) in text.split('`').enumerate() {
            if n % 2 == 1 {
                self.code(part);
            } else {
                self.text(part);
            }
        }
        self
    }

    /// The page; none if it was given up.
    pub fn done(self) -> Option<String> {
        self.left.map(|_| self.written)
    }
}
