// A page's question to the host: its answer, when that came, and why there is none.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";

/** An answer that may be on its way. */
export type Asked<T> = {
  data: T | undefined;
  error: Error | undefined;
  /** When the data came; milliseconds since 1970. */
  at: number | undefined;
  loading: boolean;
  again: () => void;
};

/** Ask when the key changes, and then every so many milliseconds while the page is seen. Nothing is asked without a key. */
export function useAsk<T>(
  key: string | undefined,
  ask: (signal: AbortSignal) => Promise<T>,
  every?: number,
): Asked<T> {
  const [state, setState] = useState<{ key?: string; data?: T; error?: Error; at?: number }>({});
  const [round, setRound] = useState(0);
  const latest = useRef(ask);
  latest.current = ask;
  useEffect(() => {
    if (key === undefined) return;
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const run = async (): Promise<void> => {
      try {
        if (document.visibilityState === "visible" || every === undefined) {
          const data = await latest.current(stop.signal);
          if (!stop.signal.aborted) setState({ key, data, at: Date.now() });
        }
      } catch (error) {
        if (stop.signal.aborted) return;
        setState((before) => (before.key === key ? { ...before, error: error as Error } : { key, error: error as Error }));
      }
      if (every !== undefined && !stop.signal.aborted) timer = setTimeout(run, every);
    };
    void run();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [key, every, round]);
  const again = useCallback(() => setRound((n) => n + 1), []);
  const isOfKey = state.key === key;
  return {
    data: isOfKey ? state.data : undefined,
    error: isOfKey ? state.error : undefined,
    at: isOfKey ? state.at : undefined,
    loading: key !== undefined && !(isOfKey && (state.data !== undefined || state.error !== undefined)),
    again,
  };
}
