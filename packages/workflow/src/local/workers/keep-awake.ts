import type { Host, Recovered } from "../../host/host.ts";
import { isAnythingDue } from "../../disk/due.ts";
import type { Environment } from "../../system/port.ts";
import { system } from "../../system/system.ts";
import { lostWorkers } from "./recover.ts";

const lookEveryMs = 1_000;

type KeepAwakeOptions = {
  resume?: boolean;
  /** Called when threads were resumed, or newly need the user's decision. */
  onRecovered?: (recovered: Recovered) => void;
  /** Called after each check for due and interrupted threads. */
  onLook?: () => void;
};

/**
 * Wakes a host's due threads, and with `resume` resumes interrupted threads, in the background of a process. Returns a
 * stop function. Failures are retried; only direct callers of {@link Host.wake} and {@link Host.recover} see errors.
 */
export function keepAwake(
  host: Host,
  env: Environment,
  { resume = false, onRecovered = () => undefined, onLook }: KeepAwakeOptions = {},
): () => void {
  let lost: ReadonlySet<string> | null = null;
  let left = new Set<string>();
  let isOver = false;
  const recover = async (): Promise<void> => {
    const before = lost;
    const now = lostWorkers(host.root);
    if (before !== null && now.every((one) => before.has(one))) return void (lost = new Set(now));
    const recovered = await host.recover({ env });
    lost = new Set(now);
    const known = left;
    left = new Set(recovered.left.map(leftKey));
    const news = recovered.left.filter((one) => !known.has(leftKey(one)));
    if (recovered.resumed.length + news.length > 0) onRecovered({ ...recovered, left: news });
  };
  const look = async (): Promise<void> => {
    if (isAnythingDue(host.root)) await host.wake({ env }).catch(() => undefined);
    if (resume) await recover().catch(() => undefined);
    onLook?.();
    if (!isOver) rest = system.clock.after(lookEveryMs, () => void look());
  };
  let rest = system.clock.after(resume ? 0 : lookEveryMs, () => void look());
  return () => {
    isOver = true;
    rest();
  };
}

const leftKey = ({ threadId, reason }: Recovered["left"][number]): string =>
  `${threadId} ${reason}`;
