import { type ComponentType, useEffect, useState } from "react";
import { FailureNotice } from "./states.tsx";
import { loadPart } from "../lib/request.ts";

const loads = new Set<() => Promise<unknown>>();

/** A part that opens, such as a dialog or a menu. Its code loads when it opens first, or by {@link loadWhenIdle}. */
export function later<Props extends { isOpen: boolean }>(
  load: () => Promise<ComponentType<Props>>,
): ComponentType<Props> {
  let Part: ComponentType<Props> | null = null;
  const read = async () => {
    Part ??= await loadPart(load);
  };
  loads.add(read);
  return function Later(props: Props) {
    const [isRead, setRead] = useState(false);
    const [error, setError] = useState<Error | null>(null);
    const { isOpen } = props;
    useEffect(() => {
      if (isOpen && !isRead && !error) void read().then(() => setRead(true), setError);
    }, [isOpen, isRead, error]);
    if (error && isOpen) return <FailureNotice error={error} onRetry={() => setError(null)} />;
    return isRead && Part ? <Part {...props} /> : null;
  };
}

/** Loads the parts of the page while the browser is idle, so that they open at once. */
export function loadWhenIdle(): void {
  // Safari has no idle callback.
  const schedule = globalThis.requestIdleCallback ?? ((act: () => void) => setTimeout(act, 500));
  schedule(() => {
    // Opening a part reports the failure.
    for (const load of loads) void load().catch(() => undefined);
  });
}
