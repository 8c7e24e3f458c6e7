// The theme: as the system has it, light or dark. The browser remembers the choice, which is no secret.

import { useState } from "preact/hooks";
import { words } from "../words";

type Theme = "system" | "light" | "dark";
const KEY = "rialto-theme";

function remembered(): Theme {
  const kept = localStorage.getItem(KEY);
  return kept === "light" || kept === "dark" ? kept : "system";
}

function use(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
}

use(remembered());

/** The choice of the theme. */
export function ThemeChoice() {
  const [theme, setTheme] = useState(remembered());
  const choose = (chosen: Theme): void => {
    localStorage.setItem(KEY, chosen);
    use(chosen);
    setTheme(chosen);
  };
  return (
    <fieldset class="theme">
      <legend class="hidden">{words.theme.label}</legend>
      {(["system", "light", "dark"] as Theme[]).map((one) => (
        <label>
          <input type="radio" name="theme" value={one} checked={theme === one} onChange={() => choose(one)} />
          <span>{words.theme[one]}</span>
        </label>
      ))}
    </fieldset>
  );
}
