import type { Host } from "../../host/host.ts";
import { isAnythingDue } from "../../disk/due.ts";
import type { Environment } from "../../system/port.ts";
import { system } from "../../system/system.ts";
import { lostWorkers } from "./recover.ts";

const lookEveryMs = 1_000;

/**
 * Wakes what is due of a host, and with `resume` resumes what was interrupted, for as long as a process lives that has something
 * else to do. Returns what ends that. Errors are for callers of {@link Host.wake} and {@link Host.recover}: here what can't be
 * woken is tried again.
 */
export function keepAwake(host: Host, env: Environment, { resume = false } = {}): () => void {
  let lost = new Set<string>();
  let isFirst = true;
  let isOver = false;
  const recover = async (): Promise<void> => {
    const now = lostWorkers(host.root);
    const isNew = isFirst || now.some((one) => !lost.has(one));
    isFirst = false;
    lost = new Set(now);
    if (isNew) await host.recover({ env });
  };
  const look = async (): Promise<void> => {
    if (isAnythingDue(host.root)) await host.wake({ env }).catch(() => undefined);
    if (resume) await recover().catch(() => undefined);
    if (!isOver) rest = system.clock.after(lookEveryMs, () => void look());
  };
  let rest = system.clock.after(resume ? 0 : lookEveryMs, () => void look());
  return () => {
    isOver = true;
    rest();
  };
}
