// What a support bundle leaves out, wherever a person may stand in it.

import { describe, expect, test } from "vitest";
import { MASKED, masked } from "../src/story/mask";

const base64 = (value: unknown): string => btoa(JSON.stringify(value));
const base64url = (value: unknown): string => base64(value).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");

/** Texts that name the two people of the bundle. */
const PEOPLE = ["27713803912", "4915778123", "anna@bank.example", "anna%40bank.example", "Anna", "Schmidt", "1980-02-29", "rent for May", "Hauptstraße"];

const QUOTE = {
  quoteId: "7c23e80c-d078-4077-8263-2c047876fcf6",
  payee: {
    partyIdInfo: { partyIdType: "MSISDN", partyIdentifier: "27713803912", fspId: "payeefsp" },
    personalInfo: { complexName: { firstName: "Anna", lastName: "Schmidt" }, dateOfBirth: "1980-02-29" },
  },
  payer: { partyIdInfo: { partyIdType: "EMAIL", partyIdentifier: "anna@bank.example" }, name: "Anna Schmidt" },
  amount: { currency: "USD", amount: "12.5" },
  note: "rent for May",
  extensionList: { extension: [{ key: "street", value: "Hauptstraße" }] },
};
const PACKET = base64url(QUOTE);

const BUNDLE = {
  id: "7c23e80c-d078-4077-8263-2c047876fcf6",
  quote: "7c23e80c-d078-4077-8263-2c047876fcf6",
  stories: [
    {
      subject: "quote:7c23e80c-d078-4077-8263-2c047876fcf6",
      turns: [
        {
          turn: 7,
          function: "POST /quotes",
          subjects: ["quote:7c23e80c-d078-4077-8263-2c047876fcf6", "party:MSISDN/27713803912"],
          ended: { Failed: "the party 27713803912 is with nobody" },
          steps: [
            { Wrote: { document: "account-lookup/associations/EMAIL/anna%40bank.example" } },
            { Sent: { id: 9, request: "PUT http://fsp.example/parties/MSISDN/27713803912/error" } },
            { Reminded: { id: "MSISDN/27713803912", due: 5 } },
            {
              Message: {
                part: "Came",
                request: null,
                line: "GET /parties/EMAIL/anna%40bank.example",
                headers: [
                  ["fspiop-source", "payerfsp"],
                  ["fspiop-uri", "/parties/MSISDN/27713803912"],
                  ["fspiop-signature", base64({ signature: "x", protectedHeader: base64url({ "FSPIOP-URI": "/parties/MSISDN/27713803912" }) })],
                  ["x-about", "anna@bank.example"],
                ],
                headers_left_out: 1,
                body: JSON.stringify({ ...QUOTE, ilpPacket: PACKET }),
                body_bytes: 900,
              },
            },
          ],
        },
      ],
    },
  ],
  documents: [
    { place: "quoting/quotes/1", body: { request: { payer: { idType: "MSISDN", identifier: "+4915778123" } }, responseBody: JSON.stringify({ ilpPacket: PACKET, transferAmount: QUOTE.amount }) } },
    { place: "transfers/transfers/1", body: { reason: { description: "Account of 4915778123 is closed" }, deliveries: [{ text: PACKET }] } },
  ],
  receipts: [{ receipt: { input: { payer: { "id-type": "MSISDN", identifier: "4915778123", "sub-id-or-type": null }, amount: { minor: 1250 } } } }],
  entries: [{ id: "1", amount: "1250", currency: "USD", debitAccount: "payerfsp:USD:LIQUIDITY" }],
};

describe("a bundle of a payment", () => {
  const text = JSON.stringify(masked(BUNDLE), null, 2);

  test.each(PEOPLE)("does not have %s", (person) => {
    expect(text.toLowerCase()).not.toContain(person.toLowerCase());
  });

  test("has nobody in Base64 either", () => {
    const parts = text.match(/[A-Za-z0-9+/_-]{12,}={0,2}/g) ?? [];
    for (const part of parts) {
      let decoded = "";
      try {
        decoded = atob(part.replaceAll("-", "+").replaceAll("_", "/"));
      } catch {
        continue;
      }
      for (const person of PEOPLE) expect(decoded).not.toContain(person);
    }
    expect(text).not.toContain(PACKET);
  });

  test("still tells the payment", () => {
    const told = ["7c23e80c-d078-4077-8263-2c047876fcf6", "payerfsp", "payeefsp", "12.5", "USD", "1250", "POST /quotes", "payerfsp:USD:LIQUIDITY", "is closed", "MSISDN/"];
    for (const one of told) expect(text).toContain(one);
  });

  test("keeps its form: bodies are still JSON", () => {
    const again = masked(BUNDLE) as typeof BUNDLE;
    const [, , , step] = again.stories[0]!.turns[0]!.steps;
    const body = JSON.parse((step as { Message: { body: string } }).Message.body) as Record<string, unknown>;
    expect(body["amount"]).toEqual({ currency: "USD", amount: "12.5" });
    expect(body["note"]).toBe(MASKED);
    expect(body["ilpPacket"]).toBe(MASKED);
    expect((body["payee"] as Record<string, unknown>)["personalInfo"]).toBe(MASKED);
    expect((step as { Message: { headers: string[][] } }).Message.headers[0]).toEqual(["fspiop-source", "payerfsp"]);
  });

  test("is changed in nothing by its masking", () => {
    expect(JSON.stringify(BUNDLE)).toContain("27713803912");
  });
});

test("an ILP packet is Base64 of bytes with JSON in them, and is masked wherever it stands", () => {
  const bytes = `\u0001\u0000\u0004\u00e2\u001dg.payeefsp.msisdn.27713803912\u0082${JSON.stringify({ payee: { partyIdentifier: "27713803912" } })}`;
  const packet = btoa(bytes);
  const text = JSON.stringify(masked({ partyIdentifier: "27713803912", somewhere: `packet ${packet} of it` }));
  expect(text).not.toContain(packet.slice(0, 40));
  expect(text).toContain(`packet ${MASKED} of it`);
});

describe("single texts", () => {
  test("a number in its other spelling is masked", () => {
    const text = JSON.stringify(masked([{ partyIdentifier: "+27713803912" }, "27713803912 and %2B27713803912"]));
    expect(text).not.toContain("27713803912");
  });

  test("a sub-id goes with its party", () => {
    const text = JSON.stringify(masked({ line: "GET /parties/BUSINESS/acme-ltd/branch-7", said: "branch-7 of acme-ltd" }));
    expect(text).not.toMatch(/acme|branch/);
  });

  test("short texts and words within words stay", () => {
    const text = JSON.stringify(masked({ note: "pay", name: "Anna", said: "payment of annan" }));
    expect(text).toContain("payment of annan");
  });

  test("members are known in every spelling", () => {
    const all = masked({ first_name: "A", "date-of-birth": "B", ComplexName: {}, party_identifier: "C" });
    expect(Object.values(all as object)).toEqual([MASKED, MASKED, MASKED, MASKED]);
  });

  test("a number that is no text is masked where it names somebody", () => {
    expect(masked({ partyIdentifier: "123456", seen: [123456, 123] })).toEqual({ partyIdentifier: MASKED, seen: [MASKED, 123] });
  });

  test("null, lists and texts that only look like JSON stay", () => {
    const value = { identifier: null, list: [null, true, 1], text: "{not json", empty: "" };
    expect(masked(value)).toEqual(value);
  });

  test("a text with signs of expressions masks only itself", () => {
    const text = JSON.stringify(masked({ name: "a.b+c(d)[e", said: "axb+c(d)[e a.b+c(d)[e" }));
    expect(text).toContain("axb+c(d)[e");
    expect(text.match(/a\.b\+c/g)).toBeNull();
  });
});
