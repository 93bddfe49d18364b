import {
  type Host,
  isWorkflowError,
  type ThreadCommand,
  type ThreadRef,
} from "@uncaged/workflow/host";

/** Commands that were sent to a thread, and acknowledged commands. */
export type Orders = {
  /** Number of sent commands. */
  commands: number;
  kill: "none" | "asked" | "acknowledged";
  given: string[];
  acknowledged: string[];
};

export const noOrders = (): Orders => ({ commands: 0, kill: "none", given: [], acknowledged: [] });

/** Error codes that are expected after an earlier command, or after the loss of a worker or a server. */
const harmless = new Set(
  `THREAD_ENDED NOT_RUNNING NOT_WAITING ALREADY_RUNNING WAITING NO_CLUSTER NO_WORKER CALL_FAILED`.split(
    " ",
  ),
);

export type Commanded = {
  /** Acknowledged forks. */
  forks: { threadId: string; steps: number }[];
  /** Errors outside of {@link harmless}. */
  unexpected: string[];
};

const atOnce = 10;

/** Sends ten random commands to a thread at once, and records their outcome in `orders`. */
export async function tenAtOnce(
  host: Host,
  ref: ThreadRef,
  orders: Orders,
  random: () => number,
  isHarmless = (code: string) => harmless.has(code),
): Promise<Commanded> {
  orders.commands += atOnce;
  const done: Commanded = { forks: [], unexpected: [] };
  const mayKill = random() < 0.25;
  const kinds = [
    "pause",
    "resume",
    "answer",
    "answer",
    "fork",
    mayKill ? "kill" : "pause",
  ] as const;
  const give = async (kind: (typeof kinds)[number]) => {
    if (kind === "fork") {
      const { threadId, forkFrom } = await host.fork(ref, { env: {} });
      done.forks.push({ threadId, steps: forkFrom.steps });
    } else if (kind === "answer") await answer(host, ref, orders, random);
    else if (kind === "kill") await kill(host, ref, orders);
    else await host.control(ref, { kind } as ThreadCommand);
  };
  const drawn = Array.from({ length: atOnce }, () => {
    return kinds[Math.floor(random() * kinds.length)] ?? "pause";
  });
  await Promise.all(
    drawn.map(async (kind) => {
      const failed = (error: unknown) => {
        if (isWorkflowError(error) && isHarmless(error.code)) return;
        done.unexpected.push(`${kind} of ${ref.threadId}: ${String(error)}`);
      };
      await give(kind).catch(failed);
    }),
  );
  return done;
}

async function kill(host: Host, ref: ThreadRef, orders: Orders): Promise<void> {
  if (orders.kill === "none") orders.kill = "asked";
  await host.control(ref, { kind: "kill" });
  orders.kill = "acknowledged";
}

/** Answers the question of a thread. */
export async function answer(
  host: Host,
  ref: ThreadRef,
  orders: Orders,
  random: () => number,
): Promise<void> {
  const content = `answer ${random()}`;
  orders.given.push(content);
  await host.control(ref, { kind: "answer", input: { content }, env: {} });
  orders.acknowledged.push(content);
}
