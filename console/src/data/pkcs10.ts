// The key in a certificate request (PKCS #10): a checker compares its fingerprint with the participant before approving.

/** The tag of a sequence. */
const SEQUENCE = 0x30;

/** A value of DER: where it begins with its head, where its contents are, and where it ends. */
type Part = { from: number; inner: number; to: number; tag: number };

function part(bytes: Uint8Array, from: number): Part {
  const [tag, first] = [bytes[from], bytes[from + 1]];
  if (tag === undefined || first === undefined) throw new Error("cut");
  let length = first;
  let inner = from + 2;
  if (first >= 0x80) {
    const octets = first & 0x7f;
    if (octets === 0 || octets > 3) throw new Error("too long");
    length = 0;
    for (let at = 0; at < octets; at += 1) length = length * 256 + (bytes[inner + at] ?? Number.NaN);
    inner += octets;
  }
  const to = inner + length;
  if (!(to <= bytes.length)) throw new Error("cut");
  return { from, inner, to, tag };
}

/** The octets of the request's SubjectPublicKeyInfo; none if the text is no request. */
export function publicKey(pem: string): Uint8Array | undefined {
  try {
    const text = /-----BEGIN (?:NEW )?CERTIFICATE REQUEST-----([^-]+)-----END/.exec(pem)?.[1];
    if (text === undefined) return undefined;
    const bytes = Uint8Array.from(atob(text.replace(/\s/g, "")), (letter) => letter.charCodeAt(0));
    const request = part(bytes, 0);
    const info = part(bytes, request.inner);
    const version = part(bytes, info.inner);
    const subject = part(bytes, version.to);
    const key = part(bytes, subject.to);
    const isOne = [request, info, subject, key].every((one) => one.tag === SEQUENCE);
    return isOne ? bytes.slice(key.from, key.to) : undefined;
  } catch {
    return undefined;
  }
}

/** The SHA-256 of that key in hexadecimal digits, as `openssl pkey -pubin -outform DER | sha256sum` prints it. */
export async function fingerprint(pem: string): Promise<string | undefined> {
  const key = publicKey(pem);
  if (key === undefined) return undefined;
  const digest = await crypto.subtle.digest("SHA-256", key.slice().buffer);
  return [...new Uint8Array(digest)].map((octet) => octet.toString(16).padStart(2, "0")).join("");
}
