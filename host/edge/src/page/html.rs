//! Writing HTML: what is text is escaped, wherever it comes from.

/// A page being written.
#[derive(Default)]
pub(super) struct Html(String);

impl Html {
    /// Markup of this crate's own.
    pub fn raw(&mut self, markup: &str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Text, in content or in an attribute in double quotation marks.
    pub fn text(&mut self, text: &str) -> &mut Self {
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                c => self.0.push(c),
            }
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

    /// A link. `target` is a path or an anchor of this host, never what somebody else wrote with a
    /// scheme of its own.
    pub fn link(&mut self, target: &str, text: &str) -> &mut Self {
        self.raw("<a href=\"").text(target).raw("\">");
        self.text(text).raw("</a>")
    }

    /// The mark of what must be there.
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

    /// The page.
    pub fn done(self) -> String {
        self.0
    }
}
