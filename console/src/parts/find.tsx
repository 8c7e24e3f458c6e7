// The field that leads to a payment by any of its ids.

import { useState } from "preact/hooks";
import { link } from "../data/router";
import { words } from "../words";

const w = words.transfers;

/** A field that leads to a payment. */
export function FindById() {
  const [id, setId] = useState("");
  const go = (event: Event): void => {
    event.preventDefault();
    if (id.trim()) location.hash = link("story", id.trim());
  };
  return (
    <form class="find" role="search" aria-label={w.find} onSubmit={go}>
      <label class="field">
        <span>{w.find}</span>
        <input type="search" name="id" value={id} placeholder={w.findHint} spellcheck={false} autocomplete="off" onInput={(event) => setId(event.currentTarget.value)} />
      </label>
      <button type="submit">{w.open}</button>
    </form>
  );
}
