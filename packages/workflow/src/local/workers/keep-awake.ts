import type { Host, Recovered } from "../../host/host.ts";
import { isAnythingDue } from "../../disk/due.ts";
import type { Environment } from "../../system/port.ts";
import { system } from "../../system/system.ts";
import { lostWorkers } from "./recover.ts";

const lookEveryMs = 1_000;

type KeepAwakeOptions = {
  resume?: boolean;
  /** Called with what was done whenever threads were resumed, or are newly left to a person. */
  onRecovered?: (recovered: Recovered) => void;
};

/**
 * Wakes what is due of a host, and with `resume` resumes what was interrupted, for as long as a process lives that has something
 * else to do. Returns what ends that. Errors are for callers of {@link Host.wake} and {@link Host.recover}: here what failed is
 * tried again.
 */
export function keepAwake(
  host: Host,
  env: Environment,
  { resume = false, onRecovered = () => undefined }: KeepAwakeOptions = {},
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
