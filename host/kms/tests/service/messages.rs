//! Messages of HTTP/1.1, as far as the tests need them.

use std::io::Read;

/// One message: its head with the empty line, and its body.
#[derive(Clone, Debug)]
pub struct Message {
    pub head: String,
    pub body: Vec<u8>,
}

impl Message {
    /// The next message of a connection; none at its end.
    pub fn read(from: &mut impl Read) -> Option<Self> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            from.read_exact(&mut byte).ok()?;
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).unwrap();
        let length = header(&head, "content-length").map_or(0, |text| text.parse().unwrap());
        let mut body = vec![0; length];
        from.read_exact(&mut body).ok()?;
        Some(Self { head, body })
    }

    pub fn bytes(&self) -> Vec<u8> {
        [self.head.as_bytes(), &self.body].concat()
    }

    /// The operation of a request, without the service's name.
    pub fn operation(&self) -> &str {
        let target = header(&self.head, "x-amz-target").unwrap();
        target.strip_prefix("TrentService.").unwrap()
    }
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let lines = head.lines().filter_map(|line| line.split_once(':'));
    let mut values = lines.filter(|(found, _)| found.eq_ignore_ascii_case(name));
    values.next().map(|(_, value)| value.trim())
}

/// An answer of this status.
pub fn answer(status: u16, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status} X\r\nContent-Length: {length}\r\n\r\n{body}").into_bytes()
}

/// An error of the service.
pub fn error(status: u16, name: &str) -> Vec<u8> {
    let body = format!(r#"{{"__type":"com.amazonaws.kms#{name}","message":"hush"}}"#);
    answer(status, &body)
}
