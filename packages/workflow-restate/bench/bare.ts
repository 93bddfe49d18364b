import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { type Context, createEndpointHandler, service } from "@restatedev/restate-sdk";

/* A Restate handler whose step is one `ctx.run`, as a program that prints its port. */

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
    /** Makes steps, and returns the milliseconds that they took. */
    steps: async (ctx: Context, { count, size }: Steps) => {
      const began = performance.now();
      for (let n = 0; n < count; n += 1) await step(ctx, n, size);
      return performance.now() - began;
    },
  },
});

const server = createServer(createEndpointHandler({ services: [bare], logger: () => undefined }));
server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));
