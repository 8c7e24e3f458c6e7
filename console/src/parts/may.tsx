// Who may do something. A button is not shown to who may not use it, and the page says why.

import type { ComponentChildren } from "preact";
import { useSession } from "../data/session";
import { words } from "../words";

/** The children for who has one of these roles; for others what role is missing, unless the page has said it already. */
export function May({ roles, to, isSaid = false, children }: { roles: string[]; to: string; isSaid?: boolean; children: ComponentChildren }) {
  const session = useSession();
  if (roles.some((role) => session.roles.includes(role))) return <>{children}</>;
  if (isSaid) return null;
  return <p class="hint may">{words.may.not(to, roles)}</p>;
}
