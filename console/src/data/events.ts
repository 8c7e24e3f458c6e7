// Server-sent events, read from an answer that goes on. `EventSource` cannot send a token, so the page reads them itself.

/** An event: its kind, and its data. */
export type Event = { event: string; data: string };

/** Takes a text apart into events, however it was cut. */
export class Parser {
  private rest = "";

  /** The events that are complete with this piece. */
  take(piece: string): Event[] {
    this.rest += piece;
    const parts = this.rest.split(/\r?\n\r?\n/);
    this.rest = parts.pop() ?? "";
    return parts.map(event).filter((one) => one !== undefined);
  }
}

function event(block: string): Event | undefined {
  let kind = "message";
  const data: string[] = [];
  for (const line of block.split(/\r?\n/)) {
    const [, field = "", value = ""] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
    if (field === "event") kind = value;
    else if (field === "data") data.push(value);
  }
  return data.length === 0 ? undefined : { event: kind, data: data.join("\n") };
}

/** Read events until the stream ends, or is silent for too long. Throws when it breaks. */
export async function read(stream: ReadableStream<Uint8Array>, silentMs: number, take: (one: Event) => void): Promise<void> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  const parser = new Parser();
  let silent: ReturnType<typeof setTimeout> | undefined;
  const listen = (): void => {
    clearTimeout(silent);
    silent = setTimeout(() => void reader.cancel(), silentMs);
  };
  try {
    for (;;) {
      listen();
      const { done, value } = await reader.read();
      if (done) return;
      for (const one of parser.take(decoder.decode(value, { stream: true }))) take(one);
    }
  } finally {
    clearTimeout(silent);
  }
}
