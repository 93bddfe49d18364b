import type { Host } from "../../host/host.ts";
import { isAnythingDue } from "../../disk/due.ts";
import type { Environment } from "../../system/port.ts";
import { system } from "../../system/system.ts";

const lookEveryMs = 1_000;

/**
 * Wakes what is due of a host for as long as a process lives that has something else to do. Returns what ends that.
 * Who asks for it gets the errors, by {@link Host.wake}: here what can't be woken is tried again.
 */
export function keepAwake(host: Host, env: Environment): () => void {
  let rest = system.clock.after(lookEveryMs, () => void look());
  let isOver = false;
  const look = async (): Promise<void> => {
    if (isAnythingDue(host.root)) await host.wake({ env }).catch(() => undefined);
    if (!isOver) rest = system.clock.after(lookEveryMs, () => void look());
  };
  return () => {
    isOver = true;
    rest();
  };
}
