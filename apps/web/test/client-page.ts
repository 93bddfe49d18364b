import { isWorkflowError, openRemoteHost, settled } from "@uncaged/workflow/client";

/* Starts, observes and answers a thread, in a page or in its web worker. */

export type Given = { url: string; token: string };
export type Tried =
  | { threads: number; seen: string[]; status: string }
  | { code: string; hint: string };

async function tried({ url, token }: Given): Promise<Tried> {
  try {
    const host = await openRemoteHost(url, { token });
    const stopped = new AbortController();
    const changes = host.changes(stopped.signal);
    await changes.next();
    const place = { cwd: "", env: {} };
    const thread = await host.start({ workflow: "asker", prompt: "go", ...place });
    const seen: string[] = [];
    for await (const item of host.observe(thread)) {
      if (item.kind === "step") seen.push(`${item.step.role} ${item.step.content}`);
      if (item.kind !== "status" || item.state.status !== "waiting") continue;
      await host.control(thread, { kind: "answer", input: { content: "gladly" }, env: {} });
    }
    const change = await changes.next();
    if (!change.done) seen.push(`change: ${change.value.kind}`);
    stopped.abort();
    const { status } = await settled(host, thread);
    return { threads: (await host.threads()).rows.length, seen, status };
  } catch (error) {
    if (!isWorkflowError(error)) throw error;
    return { code: error.code, hint: error.hint ?? "" };
  }
}

if ("document" in globalThis) Object.assign(globalThis, { tried });
else
  addEventListener(
    "message",
    ({ data }) => void tried(data as Given).then((one) => postMessage(one, [])),
  );
