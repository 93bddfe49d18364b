import type { z } from "zod";
import { runFailureShape } from "../shape/run.ts";

const json = <Shape extends z.ZodType>(schema: Shape) => ({ "application/json": { schema } });
const refused = (description: string) => ({ description, content: json(runFailureShape) });

/** How the stream of a run is refused: of an unknown run it ends at once. */
export const runStreamRefusals = {
  401: refused("The token is missing or wrong."),
  403: refused("The Host or the Origin is not this server's."),
  429: refused("Too many at once."),
};

/** The answers of a run's path: what it gives when all is well, and how it refuses. */
export const runAnswers = <Shape extends z.ZodType>(description: string, schema: Shape) => ({
  200: { description, content: json(schema) },
  400: refused("What was sent is malformed or invalid: see `messages`."),
  404: refused("There is no such run, no such workflow, or no checkpoint."),
  409: refused("It can't be done as things are."),
  413: refused("The body is too large."),
  ...runStreamRefusals,
});
