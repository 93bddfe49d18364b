import { useEffect, useState } from "react";

/** The time, told again every `everyMs` while it is asked for. */
export function useNow(everyMs: number, isAsked = true): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!isAsked) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs, isAsked]);
  return now;
}
