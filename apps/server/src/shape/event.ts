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

/** What the stream of all threads adds: `position` is one in that thread's own stream. */
const ofThread = { threadId: z.string(), position: z.string() };

/** Of all threads. `ready` comes first; after one that missed something, read the lists anew. */
const storeEventShapes = {
  ready: z.object({ missed: z.boolean() }),
  start: threadEventShapes.start.extend(ofThread),
  step: threadEventShapes.step.extend(ofThread),
  event: threadEventShapes.event.extend(ofThread),
  end: threadEventShapes.end.extend(ofThread),
  thread: threadRowShape,
  removed: z.object({ threadId: z.string() }),
  workflows: z.object({}),
};

/** The events of all threads that are read from their logs. */
export const logEventNames = ["start", "step", "event", "end"] as const;

/** The events of all threads that one may choose among. */
export const storeEventNames = [...logEventNames, "thread", "removed", "workflows"] as const;
export type StoreEventName = (typeof storeEventNames)[number];

type Named<Shapes extends Record<string, z.ZodType>> = {
  [Name in keyof Shapes]: z.infer<Shapes[Name]>;
};

/** The data of the server-sent events of one thread, by the event's name. */
export type ThreadEvents = Named<typeof threadEventShapes>;

/** The data of the server-sent events of all threads, by the event's name. */
export type StoreEvents = Named<typeof storeEventShapes>;
