import {
  CLIENT_INFO_META_KEY,
  type McpServer,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { type AnsweredBy, type Host, toErrorRecord } from "@uncaged/workflow/host";
import { firstLine, isRecord } from "@uncaged/workflow/internal";
import { z } from "zod";
import { violation } from "../guard/error-response.ts";
import type { Role } from "../guard/role.ts";
import { badArguments, resultTooLarge, tooManyCalls } from "./errors.ts";
import { jsonBytes, mostBytes } from "./size.ts";

/** The host of a server's tools, and the permissions of its clients. */
export type Access = {
  host: Host;
  /** The environment and folder of threads that tools start. */
  env: Record<string, string>;
  cwd: string;
  /** Whether a model may answer questions that ask for a person's decision. */
  allowApprove: boolean;
};

/** A call of a tool. */
export type Call = {
  /** Aborted when the client cancels the call or disconnects. */
  signal: AbortSignal;
  /** The recorded author of the call's answers. */
  by: AnsweredBy;
  /** The W3C trace context of the caller. */
  traceparent: string | undefined;
  /** Reports progress; undefined if the client did not ask for it. */
  report: ((progress: number, total: number, message: string) => Promise<void>) | undefined;
};

/** The result of a tool: the structured content, and a short text about it. */
type Answer<Data> = { data: Data; text: string };

export type Tool<In extends z.ZodObject = z.ZodObject, Out extends z.ZodObject = z.ZodObject> = {
  name: string;
  title: string;
  description: string;
  input: In;
  output: Out;
  /** Whether the tool changes nothing, adds something, or may end or replace something. */
  kind: "reads" | "adds" | "ends";
  /** The role that a client needs. Default: `read` for a tool that changes nothing, else `operate`. */
  role?: Role;
  /** Whether a repeated call has no further effect. */
  isIdempotent?: boolean;
  run(access: Access, given: z.output<In>, call: Call): Promise<Answer<z.input<Out>>>;
};

/** A tool with its published schemas. */
export type Defined = Tool & { inputSchema: z.ZodObject; outputSchema: z.ZodObject };

/** Infers the types of a tool from its schemas, and adds the published schemas. */
export function defineTool<In extends z.ZodObject, Out extends z.ZodObject>(
  tool: Tool<In, Out>,
): Defined {
  const plain = tool as unknown as Tool;
  return {
    ...plain,
    inputSchema: describedOnly(plain.input),
    outputSchema: publishedSchema(plain.output),
  };
}

const errorSchema = z.strictObject({
  code: z.string(),
  message: z.string(),
  hint: z.string().optional(),
  details: z.array(z.string()).optional(),
});

/**
 * Returns the published schema of a result: the fields of the tool, or `error`. Clients check all results against the
 * schema, including results of failed calls.
 */
function publishedSchema(output: z.ZodObject): z.ZodObject {
  const required = Object.entries(output.shape)
    .filter(([, field]) => !z.safeParse(field, undefined).success)
    .map(([name]) => name);
  return output
    .partial()
    .extend({ error: errorSchema.optional().describe("Only in the result of a failed call.") })
    .meta({ anyOf: [{ required }, { required: ["error"] }] });
}

/**
 * Returns a schema that describes the arguments and checks nothing: the tool checks them itself, so that errors have the
 * form of all other errors.
 */
function describedOnly(schema: z.ZodObject): z.ZodObject {
  const standard = { ...schema["~standard"], validate: (value: unknown) => ({ value }) };
  return { "~standard": standard } as unknown as z.ZodObject;
}

const mostCalls = 64;

/** Counts the calls in progress of all clients of a process. */
export class Calls {
  #running = 0;

  async during<T>(run: () => Promise<T>): Promise<T> {
    if (this.#running >= mostCalls) throw tooManyCalls(mostCalls);
    this.#running += 1;
    try {
      return await run();
    } finally {
      this.#running -= 1;
    }
  }
}

/** Registers a tool. Its errors are results with `isError` and the error's code, message and hint. */
export function addTool(server: McpServer, tool: Defined, access: Access, calls: Calls): void {
  const { name, title, description, input, kind, isIdempotent = kind === "reads" } = tool;
  const { inputSchema, outputSchema } = tool;
  const annotations = {
    readOnlyHint: kind === "reads",
    destructiveHint: kind === "ends",
    idempotentHint: isIdempotent,
    openWorldHint: false,
  };
  server.registerTool(
    name,
    { title, description, annotations, inputSchema, outputSchema },
    async (given: unknown, context: ServerContext) => {
      try {
        const { data, text } = await calls.during(async () =>
          tool.run(access, checked(input, given), callOf(server, context)),
        );
        const bytes = jsonBytes(data);
        if (bytes > mostBytes) throw resultTooLarge(bytes, mostBytes);
        // The JSON is for clients that do not read structured content.
        const content = [text, JSON.stringify(data)].map((one) => ({
          type: "text" as const,
          text: one,
        }));
        return { content, structuredContent: data };
      } catch (error) {
        return failed(error);
      }
    },
  );
}

function checked(input: z.ZodObject, given: unknown): Record<string, unknown> {
  const { success, data, error } = input.safeParse(given ?? {});
  if (success) return data;
  throw badArguments(violation("arguments", error, input));
}

function failed(thrown: unknown) {
  const { code, message, hint, details } = toErrorRecord(thrown);
  if (code === "INTERNAL") console.error(thrown);
  const error = { code, message, hint, details: details?.slice(0, 50) };
  const text = [message, ...(details ?? []).slice(1, 20)].join("\n");
  return {
    content: [
      { type: "text" as const, text: `${code}: ${text}${hint === undefined ? "" : `\n${hint}`}` },
    ],
    structuredContent: { error: JSON.parse(JSON.stringify(error)) as object },
    isError: true,
  };
}

function callOf(server: McpServer, { mcpReq, http }: ServerContext): Call {
  const { _meta, envelope, notify, signal } = mcpReq;
  const { [CLIENT_INFO_META_KEY]: claimed }: Record<string, unknown> = envelope ?? {};
  // oxlint-disable-next-line typescript/no-deprecated -- Older protocol versions name the client only at the start.
  const client = claimed ?? server.server.getClientVersion();
  const own = isRecord(client) && typeof client.name === "string" ? firstLine(client.name) : "";
  // A client may claim any name.
  const name = http?.authInfo?.clientId ?? own;
  const { progressToken, traceparent } = _meta ?? {};
  return {
    signal,
    by: { kind: "mcp", ...(name !== "" && { name }) },
    traceparent: typeof traceparent === "string" ? traceparent : undefined,
    report:
      progressToken === undefined
        ? undefined
        : async (progress, total, message) => {
            const params = { progressToken, progress, total, message };
            await notify({ method: "notifications/progress", params });
          },
  };
}
