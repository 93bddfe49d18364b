import { z } from "@hono/zod-openapi";
import { logLineShape, numberedStepShape, statusShape, threadRowShape } from "./thread.ts";

/*
 * What the two event streams send, each as the `data` of a server-sent event whose name is the key.
 */

/** Of one thread. `start`, `step`, `event` and `end` bear a position as their id. */
const threadEventShapes = {
  start: z.object({
    threadId: z.string(),
    workflow: z.string(),
    hash: z.string(),
    prompt: z.string(),
    maxRounds: z.number(),
    createdAt: z.number(),
    forkFrom: z.object({ threadId: z.string(), steps: z.number() }).nullable(),
  }),
  step: numberedStepShape,
  event: logLineShape,
  status: z.object({ status: statusShape, steps: z.number() }),
  end: z.object({
    status: statusShape,
    result: z.object({ returnCode: z.number(), summary: z.string() }).nullable(),
  }),
  removed: z.object({ threadId: z.string() }),
};

/** Of the host. A row is how a thread stands now; `reload` comes first, and says to read the lists anew. */
const hostEventShapes = {
  thread: threadRowShape,
  removed: z.object({ threadId: z.string() }),
  workflows: z.object({}),
  reload: z.object({}),
};

type Named<Shapes extends Record<string, z.ZodType>> = {
  [Name in keyof Shapes]: z.infer<Shapes[Name]>;
};

/** The data of the server-sent events of one thread, by the event's name. */
export type ThreadEvents = Named<typeof threadEventShapes>;

/** The data of the server-sent events of the host, by the event's name. */
export type HostEvents = Named<typeof hostEventShapes>;
