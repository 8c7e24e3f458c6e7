//! The codec, compared with another implementation of protobuf.

use prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage};
use rialto_proto::{Codec, Lock, descriptors};
use serde_json::{Value, json};

const EVERYTHING: &str = "package a:b@1.2.0;
    interface all {
        type alias = list<u8>;
        flags rights { read, may-write }
        enum colour { red, light-green }
        variant choice { none, some(string), many(list<u32>), perhaps(option<bool>) }
        record everything {
            a: bool, b: u8, c: u16, d: u32, e: u64, f: s8, g: s16, h: s32, i: s64,
            j: f32, k: f64, l: char, m: string, n: alias, o: option<alias>,
            p: list<string>, q: option<list<string>>, r: list<option<string>>,
            s: list<list<string>>, t: option<option<u8>>, u: tuple<string, u8>,
            v: result<string, u8>, w: rights, x: option<choice>, y: list<choice>, z-1: result,
            n-1: list<s32>, n-2: list<f64>, n-3: list<colour>, c-1: colour,
        }
        all: func(everything: everything) -> everything;
    }";

struct Both {
    codec: Codec,
    theirs: DescriptorPool,
}

const NAME: &str = "a.b.v1.Everything";

fn both() -> Both {
    let files = crate::support::under(&Lock::default(), EVERYTHING).files;
    let theirs = DescriptorPool::from_file_descriptor_set(descriptors(&files));
    Both {
        codec: Codec::new(&files),
        theirs: theirs.expect("the descriptors are right"),
    }
}

impl Both {
    fn theirs(&self, bytes: &[u8]) -> DynamicMessage {
        let descriptor = self.theirs.get_message_by_name(NAME).expect("it is there");
        DynamicMessage::decode(descriptor, bytes).expect("they can read it")
    }

    /// There, in the other's words, and back from the other's bytes.
    fn there_and_back(&self, value: &Value) -> String {
        let ours = self.codec.encode(NAME, value).expect("it is one");
        let theirs = self.theirs(&ours);
        let back = self.codec.decode(NAME, &theirs.encode_to_vec());
        assert_eq!(back.as_ref(), Ok(value));
        theirs.to_text_format()
    }

    fn refused(&self, text: &str) -> String {
        let descriptor = self.theirs.get_message_by_name(NAME).expect("it is there");
        let theirs = DynamicMessage::parse_text_format(descriptor, text).expect("it is theirs");
        let refused = self.codec.decode(NAME, &theirs.encode_to_vec());
        refused.expect_err("it does not fit").to_string()
    }
}

fn full() -> Value {
    json!({
        "a": true, "b": 255, "c": 65535, "d": 4294967295_u32, "e": u64::MAX, "f": -128, "g": -32768,
        "h": i32::MIN, "i": i64::MIN, "j": 1.5, "k": -0.25, "l": "ß", "m": "text", "n": [0, 255],
        "o": [], "p": ["", "p"], "q": [], "r": [null, "r"], "s": [[], ["s", "t"]], "t": {"some": null},
        "u": ["u", 7], "v": {"err": 0}, "w": ["may-write"], "x": {"perhaps": null},
        "y": ["none", {"some": ""}, {"many": [0, 300]}, {"perhaps": true}], "z-1": {"ok": null},
        "n-1": [-1, 0, 1], "n-2": [0.0, 2.5], "n-3": ["light-green", "red"], "c-1": "light-green",
    })
}

fn least() -> Value {
    json!({
        "a": false, "b": 0, "c": 0, "d": 0, "e": 0, "f": 0, "g": 0, "h": 0, "i": 0, "j": 0.0, "k": 0.0,
        "l": "l", "m": "", "n": [], "o": null, "p": [], "q": null, "r": [], "s": [], "t": null,
        "u": ["", 0], "v": {"ok": ""}, "w": [], "x": null, "y": [], "z-1": {"err": null}, "n-1": [],
        "n-2": [], "n-3": [], "c-1": "red",
    })
}

#[test]
fn another_reads_what_is_written_and_is_read_back() {
    let both = both();
    let text = "a:true,b:255,c:65535,d:4294967295,e:18446744073709551615,f:-128,g:-32768,h:-2147483648,\
        i:-9223372036854775808,j:1.5,k:-0.25,l:\"ß\",m:\"text\",n:\"\\000\\377\",o:\"\",p:[\"\",\"p\"],q{},\
        r:[{},{value:\"r\"}],s:[{},{items:[\"s\",\"t\"]}],t{},u{item0:\"u\",item1:7},v{err:0},\
        w{may_write:true},x{perhaps{}},y:[{none{}},{some:\"\"},{many{items:[0,300]}},\
        {perhaps{value:true}}],z_1{ok{}},n_1:[-1,0,1],n_2:[0.0,2.5],\
        n_3:[COLOUR_LIGHT_GREEN,COLOUR_RED],c_1:COLOUR_LIGHT_GREEN";
    let plain = |text: &str| text.replace('\u{df}', "\\303\\237");
    assert_eq!(plain(&both.there_and_back(&full())), plain(text));
    assert_eq!(
        both.there_and_back(&least()),
        "l:\"l\",u{},v{ok:\"\"},w{},z_1{err{}},c_1:COLOUR_RED"
    );
}

#[test]
fn missing_or_excessive_values_are_refused_with_their_location() {
    let both = both();
    // Each is found before the next of what else is missing.
    let rest = "l:\"l\" u{item1:999} v{ok:\"\"} w{} z_1{err{}}";
    assert_eq!(both.refused(rest), "u.item1: 999 is more than 255");
    let rest = rest.replace("999", "255");
    assert_eq!(both.refused(&rest), "c_1: is missing");
    let refused = |text: &str| both.refused(&format!("{rest} {text}"));
    let with_colour = |text: &str| refused(&format!("c_1:COLOUR_RED {text}"));
    assert_eq!(with_colour("b:256"), "b: 256 is more than 255");
    assert_eq!(with_colour("f:-129"), "f: -129 is not from -128 to 127");
    assert_eq!(
        with_colour("y{none{}} y{}"),
        "y.1: none of its cases is set"
    );
    assert_eq!(with_colour("n_3:[COLOUR_UNSPECIFIED]"), "n_3.0: is missing");
    assert_eq!(refused("c_1:7"), "c_1: 7 is no value of `a.b.v1.Colour`");
    assert_eq!(with_colour("j:inf"), "j: is not a finite number");
    assert_eq!(both.refused("l:\"ll\""), "l: is not one character");
    assert_eq!(both.refused(""), "l: is not one character");
    assert_eq!(both.refused("l:\"l\""), "u: is missing");
}

#[test]
fn what_others_may_send_is_taken() {
    let both = both();
    let bytes = both.codec.encode(NAME, &least()).expect("it is one");
    let with = |more: &[u8]| {
        both.codec
            .decode(NAME, &[&bytes[..], more].concat())
            .expect("it fits")
    };
    assert_eq!(with(&[0xf8, 0x7f, 1]), least(), "a field that is not known");
    assert_eq!(with(&[16, 1, 16, 2])["b"], 2, "the last one counts");
    // n-1 is the field 27: not packed, then packed.
    assert_eq!(
        with(&[0xd8, 1, 5, 0xda, 1, 2, 6, 7])["n-1"],
        json!([5, 6, 7])
    );
    // u is the field 21: its messages are merged.
    let merged = with(&[0xaa, 1, 3, 10, 1, b'u', 0xaa, 1, 2, 16, 7]);
    assert_eq!(merged["u"], json!(["u", 7]));
}

/// Cut and changed bytes: refused or read, and what is read can be written and is read the same.
#[test]
fn damaged_bytes_are_refused_or_read_as_writable_values() {
    let both = both();
    let bytes = both.codec.encode(NAME, &full()).expect("it is one");
    let mut read = 0;
    for n in 0..bytes.len() {
        assert_ne!(both.codec.decode(NAME, &bytes[..n]).ok(), Some(full()));
        for change in [1, 2, 4, 8, 16, 32, 64, 128, 255] {
            let mut damaged = bytes.clone();
            damaged[n] ^= change;
            if let Ok(value) = both.codec.decode(NAME, &damaged) {
                let again = both.codec.encode(NAME, &value).expect("it was read");
                assert_eq!(both.codec.decode(NAME, &again), Ok(value));
                read += 1;
            }
        }
    }
    assert!(read > 0, "some changes only change a value");
}

#[test]
fn a_message_that_expands_too_much_is_refused() {
    let wit = "package a:b@1.2.0;
        interface all {
            record row { a: u32, b: string, c: list<u32>, d: option<u32>, e: s64, f: bool }
            record rows { rows: list<row>, numbers: list<u32>, bytes: list<u8> }
            all: func(rows: rows) -> rows;
        }";
    let files = crate::support::under(&Lock::default(), wit).files;
    let codec = Codec::new(&files);
    let of = |bytes: &[u8]| codec.decode("a.b.v1.Rows", bytes);
    // A row that is not said anything of takes two bytes.
    let rows = of(&[0x0a, 0].repeat(20)).expect("a few fit");
    assert_eq!(rows["rows"].as_array().map(Vec::len), Some(20));
    let refused = of(&[0x0a, 0].repeat(10_000)).expect_err("too many do not");
    assert!(
        refused.to_string().contains("too large for its length"),
        "{refused}"
    );
    // What is sent in full fits, however long it is.
    let row = [
        0x0a, 22, 8, 1, 18, 1, b'x', 26, 1, 1, 32, 1, 40, 1, 48, 1, 8, 1, 8, 1, 8, 1, 8, 1,
    ];
    for (fits, items) in [(&row[..], "rows"), (&[16, 7], "numbers")] {
        let read = of(&fits.repeat(20_000)).expect("it fits");
        assert_eq!(read[items].as_array().map(Vec::len), Some(20_000));
    }
    let length = [0x80, 0x80, 4];
    for tag in [0x12, 0x1a] {
        let read = of(&[&[tag][..], &length, &[1].repeat(1 << 16)].concat());
        assert!(read.is_ok(), "{read:?}");
    }
}
