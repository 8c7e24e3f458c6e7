// Who looks at the console, and what that person may do.

import { createContext } from "preact";
import { useContext } from "preact/hooks";

/** Who the host says that the caller is. */
export type Session = { operator: string; person: string; roles: string[]; kind: "file" | "token" | "session"; expires?: number };

/** The session of the page. */
export const SessionContext = createContext<Session | undefined>(undefined);

/** Who is signed in. Pages are shown only to somebody. */
export function useSession(): Session {
  const session = useContext(SessionContext);
  if (!session) throw new Error("a page is shown to nobody");
  return session;
}

/** Whether the reader has a role. The host judges each request again. */
export function useRole(role: string): boolean {
  return useSession().roles.includes(role);
}
