/**
 * Observers that follow threads through the command line and the server. Each observer records the steps that it
 * receives, and reports missing and repeated steps.
 */
import type { Product, Row } from "./product.ts";

type Shown = { number: number; content: string };

/** Steps of a thread that one observer received, over all of its connections. */
class Sight {
  #last = 0;
  readonly #product: Product;
  readonly #threadId: string;
  readonly violations: string[];

  constructor(product: Product, threadId: string, violations: string[]) {
    this.#product = product;
    this.#threadId = threadId;
    this.violations = violations;
  }

  step({ number, content }: Shown): void {
    if (number !== this.#last + 1) {
      this.violations.push(`${this.#threadId}: step ${number} was shown after step ${this.#last}`);
    }
    this.#last = number;
    this.#product.note("seen", this.#threadId, number - 1, content.split(" ")[0] ?? "");
  }

  end(status: string): void {
    this.#product.note("ended", this.#threadId, status);
  }
}

type FollowLine = {
  kind?: string;
  number?: number;
  step?: { content: string };
  status?: string;
  result?: object | null;
};

/**
 * Follows a thread by the `follow` command until the thread or the command ends. The test kills or freezes some
 * commands.
 */
export async function followByCommand(
  product: Product,
  { threadId }: Row,
  violations: string[],
): Promise<void> {
  const sight = new Sight(product, threadId, violations);
  const child = product.spawn(["follow", threadId, "--json"]);
  product.counts.commands += 1;
  const bound = setTimeout(() => child.kill("SIGKILL"), 10_000);
  void product.strikeLater((signal) => child.kill(signal));
  let text = "";
  const decoder = new TextDecoder();
  for await (const bytes of child.stdout) {
    text += decoder.decode(bytes, { stream: true });
    const lines = text.split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) {
      const { kind, number = 0, step, status = "", result } = JSON.parse(line) as FollowLine;
      if (kind === "step" && step) sight.step({ number, content: step.content });
      if (kind === "end" && result) sight.end(status);
    }
  }
  clearTimeout(bound);
  await child.exited;
}

/** Follows a thread over the server until it ends. Reconnects after the last event. */
export async function followByServer(
  product: Product,
  { threadId }: Row,
  violations: string[],
): Promise<void> {
  const sight = new Sight(product, threadId, violations);
  let lastEventId: string | null = null;
  for (const late = performance.now() + 10_000; performance.now() < late; await Bun.sleep(30)) {
    const path = `/api/threads/${threadId}/events`;
    const response = await product.stream(path, lastEventId);
    if (response?.status === 404 || response?.status === 204) return;
    if (response?.status !== 200) continue;
    for await (const { name, id, data } of eventsOf(response, late)) {
      if (id !== null) lastEventId = id;
      if (name === "step") sight.step(JSON.parse(data) as Shown);
      if (name !== "end" && name !== "removed") continue;
      const { status = "", result } = JSON.parse(data) as FollowLine;
      if (result) sight.end(status);
      return;
    }
  }
}

type Message = { name: string; id: string | null; data: string };

/** Yields the messages of a stream until the stream breaks or the time limit ends. */
async function* eventsOf({ body }: Response, late: number): AsyncGenerator<Message> {
  const reader = body?.getReader();
  if (!reader) return;
  const bound = setTimeout(
    () => void reader.cancel().catch(() => undefined),
    Math.max(0, late - performance.now()),
  );
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      text += decoder.decode(value, { stream: true });
      const blocks = text.split("\n\n");
      text = blocks.pop() ?? "";
      for (const block of blocks) {
        const field = (name: string) =>
          new RegExp(`^${name}: ?(.*)$`, "m").exec(block)?.[1] ?? null;
        yield { name: field("event") ?? "", id: field("id"), data: field("data") ?? "null" };
      }
    }
  } catch {
    // The server was killed: followers reconnect.
  } finally {
    clearTimeout(bound);
    await reader.cancel().catch(() => undefined);
  }
}
