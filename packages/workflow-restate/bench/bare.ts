import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { type Context, createEndpointHandler, service } from "@restatedev/restate-sdk";

/* Serves a Restate handler whose steps are single `ctx.run` calls. Prints the port of the server. */

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
    /** Runs steps, and returns their duration in milliseconds. */
    steps: async (ctx: Context, { count, size }: Steps) => {
      const began = performance.now();
      for (let n = 0; n < count; n += 1) await step(ctx, n, size);
      return performance.now() - began;
    },
  },
});

const server = createServer(createEndpointHandler({ services: [bare], logger: () => undefined }));
server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));
