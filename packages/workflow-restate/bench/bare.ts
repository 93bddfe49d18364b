import { existsSync, renameSync, writeFileSync } from "node:fs";
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { type Context, createEndpointHandler, service } from "@restatedev/restate-sdk";

/*
 * Bare Restate handlers as a program: a step is one `ctx.run`, and nothing else is done for it. It prints its port.
 */

type Steps = { count: number; size: number };

const step = (ctx: Context, n: number, size: number) =>
  ctx.run("step", () => ({
    ...{ role: "worker", content: "x".repeat(size), meta: { n } },
    timestamp: Date.now(),
  }));

const bare = service({
  name: "bare",
  options: { journalRetention: 0, inactivityTimeout: 500 },
  handlers: {
    /** Makes steps and gives the milliseconds that they took. */
    steps: async (ctx: Context, { count, size }: Steps) => {
      const began = performance.now();
      for (let n = 0; n < count; n += 1) await step(ctx, n, size);
      return performance.now() - began;
    },

    /** Makes steps, and one more each time that it is woken by the id in the file; the time of that replaces the id. */
    again: async (ctx: Context, { count, size, file }: Steps & { file: string }) => {
      for (let n = 0; n < count; n += 1) await step(ctx, n, size);
      for (let n = count; ; n += 1) {
        const { id, promise } = ctx.awakeable();
        await ctx.run("ready", () => put(file, { id }));
        await promise;
        await step(ctx, n, size);
        await ctx.run("done", () =>
          put(file, { ended: performance.timeOrigin + performance.now() }),
        );
        await ctx.run("seen", () => gone(file));
      }
    },
  },
});

function put(file: string, content: object): void {
  writeFileSync(`${file}.part`, JSON.stringify(content));
  renameSync(`${file}.part`, file);
}

async function gone(file: string): Promise<void> {
  while (existsSync(file)) await Bun.sleep(5);
}

const server = createServer(createEndpointHandler({ services: [bare], logger: () => undefined }));
server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));
