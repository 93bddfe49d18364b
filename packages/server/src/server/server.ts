import { OpenAPIHono, type z } from "@hono/zod-openapi";
import type { Host, Recovered, WorkflowError } from "@uncaged/workflow/host";
import { keepAwake, readServerAddress, writeServerAddress } from "@uncaged/workflow/internal";
import type { EvalPlace } from "@uncaged/workflow-evals";
import type { MiddlewareHandler } from "hono";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type ConsoleFiles,
  consoleFiles,
  isPagePath,
  refusalPage,
  wantsPage,
} from "../console/console.ts";
import { AuditLog } from "../guard/audit.ts";
import { type BodyPace, checkBodyType, limitBody, untypedAsJson } from "../guard/body.ts";
import { guestOf, originsOf } from "../guard/cross-origin.ts";
import { errorResponseTo } from "../guard/error-response.ts";
import {
  type Access,
  bracketed,
  checkRequest,
  EntryCodes,
  ownHosts,
  policyFor,
  protect,
} from "../guard/guard.ts";
import { publicHosts, publicOrigin } from "../guard/public-url.ts";
import {
  type Admitted,
  admittedTo,
  type Caller,
  checkRole,
  needs,
  preparing,
} from "../guard/role.ts";
import { TokenFile } from "../guard/token-file.ts";
import { newToken, Tokens } from "../guard/tokens.ts";
import { graphRoutes, takesLong } from "../graphs/graph-routes.ts";
import { isForMcp, lazyMcp } from "../mcp/route.ts";
import type { OpenPlans } from "../plans/plan-rows.ts";
import { planRoutes } from "../plans/plan-routes.ts";
import { allRoutes } from "../routes/all.ts";
import { controlRoutes } from "../routes/control.ts";
import { Drafts } from "../routes/drafts.ts";
import { evalRoutes } from "../routes/evals.ts";
import { eventRoutes } from "../routes/events.ts";
import { type Context, Routes } from "../routes/route.ts";
import { threadRoutes } from "../routes/threads.ts";
import { workflowRoutes } from "../routes/workflows.ts";
import { remoteRoutes } from "../remote/remote-routes.ts";
import { runRoutes } from "../runs/run-routes.ts";
import { serverSchema } from "../schema/server.ts";
import { ChangeFeed } from "../stream/changes.ts";
import { type StreamLimits, Streams } from "../stream/streams.ts";
import { cantListen, noPlans, portInUse, shuttingDown } from "./errors.ts";
import { Health } from "./health.ts";
import { unknownPath } from "../guard/errors.ts";

export type ServerOptions = {
  host: Host;
  hostname: string;
  /** The port; 0 selects any free port. */
  port: number;
  /** The environment and folder of threads that the server starts. */
  env: Record<string, string>;
  cwd: string;
  version: string;
  /** The displayed name of the host, such as the URL of a cluster. Default: the folder of the host. */
  hostName?: string;
  /** Whether to resume threads that were interrupted within the last day. */
  resume?: boolean;
  /** Called when the server has resumed threads, or has found threads that need a person. */
  onRecovered?: (recovered: Recovered) => void;
  /** The folder of the served project. */
  project?: string | null;
  /** The folder of recorded evals. Defaults to the folder of the host. */
  evals?: EvalPlace;
  /** Opens the plans at the first request for plans. If missing, the server has no plans. */
  plans?: OpenPlans;
  /** The origins of other sites whose pages may use the API with the token. Default: none. */
  allowOrigins?: readonly string[];
  /** The URL of the proxy in front of the server. Its `X-Forwarded-For` names clients in the audit log. */
  publicUrl?: string;
  /** Further accepted names in `Host`. */
  allowHosts?: readonly string[];
  /** A file of named tokens with roles. The running server reads the file again after a change. */
  tokenFile?: string;
  /** Called after each new read of the token file. An error means that the previous tokens were kept. */
  onTokens?: (error: unknown) => void;
  /** `patienceS` is the time in seconds after which a client that does not read its stream is disconnected. */
  streams?: Partial<StreamLimits & { patienceS: number }>;
  bodies?: BodyPace;
};

/** A listening server. `url` contains the token, which grants full access, unless the server has a token file. */
export type RunningServer = {
  readonly url: string;
  readonly token: string;
  readonly port: number;
  /** Returns a URL that gives one browser access, once, within a minute. */
  entry(): string;
  /** Reads the token file again. */
  reload(): void;
  /** Ends at once. With `drain`, running requests get some seconds to finish. */
  stop(options?: { drain?: boolean }): Promise<void>;
};

// Responses may be slow, for example during a build or while a worker answers. Streams have no such limit.
const longestSilenceS = 180;
// Container engines kill a process ten seconds after its signal.
const longestDrainMs = 8_000;
const defaultStreams = { most: 200, heartbeatMs: 10_000, patienceS: 30 };
// 16 bytes per millisecond are 128 kbit/s.
const defaultPace: BodyPace = { graceMs: 30_000, bytesPerMs: 16 };
// Maximum request body in bytes. It exceeds the limits of all routes, so that a large body gets an error response from
// the route, not from the runtime.
const mostReceived = 1024 * 1024 * 1024;

/**
 * Serves a host by HTTP and writes its address and token to the storage root. Reuses the token of the previous server,
 * so that open pages stay signed in. With a token file, creates a new token, which only programs of this user can read.
 * @throws WorkflowError `PORT_IN_USE`, `BAD_HOST`, `BAD_ORIGIN`, `BAD_PUBLIC_URL`, `BAD_ALLOWED_HOST` and
 *   `BAD_TOKEN_FILE` (usage), and errors of the disk.
 */
export function startServer(options: ServerOptions): RunningServer {
  const { host, hostname, version, env, cwd, allowOrigins = [], allowHosts = [] } = options;
  const { tokenFile, publicUrl } = options;
  const origins = originsOf(allowOrigins);
  const outside = publicUrl === undefined ? null : publicOrigin(publicUrl);
  const { root } = host;
  const before = tokenFile === undefined ? readServerAddress(root)?.token : undefined;
  const tokens = new Tokens(before ?? newToken());
  const named = tokenFile === undefined ? null : new TokenFile(tokenFile, tokens);
  // Refuses invalid names before it listens.
  publicHosts(outside, allowHosts, options.port);
  const { patienceS, ...limits } = { ...defaultStreams, ...options.streams };
  const streams = new Streams(limits);
  const drafts = new Drafts({ host, env, cwd });
  const changes = new ChangeFeed(host);
  const shared = { host, env, cwd, drafts, streams, changes };
  const plans = planRoutes(shared, options.plans ?? withoutPlans);
  const context = { ...shared, plans: plans.feed };
  const limited = limitBody(options.bodies ?? defaultPace);
  const served = { version, root: options.hostName ?? root, project: options.project ?? null };
  const graphs = graphRoutes(context);
  const evals = evalRoutes(options.evals ?? { root });
  const { heartbeatMs } = limits;
  const remote = remoteRoutes(context, { version, root: served.root, heartbeatMs });
  const more = [graphs.app, plans.app, evals, remote];
  const app = makeApp(context, served, limited, consoleFiles(policyFor), more);
  const mcp = lazyMcp({ host, env, cwd, version, allowApprove: false });
  app.all("/mcp", needs("read"), limited, (call) => {
    const { caller, noted } = admittedTo(call);
    // The tools depend on the role, so the audit log can't distinguish reads from changes.
    noted.needed = caller.role;
    return mcp.fetch(call.req.raw, caller);
  });
  const codes = new EntryCodes();
  const access: Access = { hosts: new Map(), origins, tokens, port: 0, codes };
  const health = new Health(host);
  const audit = named ? new AuditLog(root) : null;
  const serve = async (
    request: Request,
    own: Bun.Server<undefined>,
    seen: { caller?: Caller; code?: string } & Admitted["noted"],
  ): Promise<Response> => {
    const guest = guestOf(request.headers, origins);
    try {
      const admitted = checkRequest(request, access);
      if (admitted instanceof Response) return protect(admitted, guest);
      seen.caller = admitted;
      if (health.isDraining) throw shuttingDown();
      checkBodyType(request);
      if (takesLong(request) || isForMcp(request)) own.timeout(request, 0);
      const bindings: Admitted = { caller: admitted, noted: seen };
      const response = await app.fetch(request, bindings);
      const isStream = response.headers.get("Content-Type") === "text/event-stream";
      // Comments restart the timeout while the client reads.
      if (isStream) own.timeout(request, patienceS);
      return protect(response, guest);
    } catch (error) {
      const { status, headers, body } = errorResponseTo(request, error, root);
      if (status === 500) console.error(error);
      const { error: refusal } = body;
      seen.code = typeof refusal === "object" ? refusal.code : (body as { code?: string }).code;
      const isPage = typeof refusal === "object" && wantsPage(request);
      return protect(
        isPage ? refusalPage(request, status, refusal) : Response.json(body, { status, headers }),
        guest,
      );
    }
  };
  const running = new Set<Promise<Response>>();
  const server = listen(options, async (request, own) => {
    const probe = await health.answer(request);
    if (probe) return protect(probe, null);
    const seen: Parameters<typeof serve>[2] = {};
    const work = serve(request, own, seen);
    running.add(work);
    const response = await work;
    running.delete(work);
    const from = outside ? clientOf(request, own.requestIP(request)?.address) : undefined;
    const { caller = null, thread, needed, code } = seen;
    audit?.note({ request, caller, from, thread, needed, status: response.status, code });
    return response;
  });
  const port = server.port ?? options.port;
  const others = publicHosts(outside, allowHosts, port);
  Object.assign(access, { hosts: new Map([...ownHosts(hostname, port), ...others]), port });
  const url = `http://${bracketed(shownHost(hostname))}:${port}`;
  const shown = outside?.origin ?? url;
  const { own: token } = tokens;
  try {
    const recorded = outside ? { publicUrl: outside.origin } : {};
    writeServerAddress(root, { url, ...recorded, token, pid: process.pid });
  } catch (error) {
    void server.stop(true);
    throw error;
  }
  const rest = keepAwake(host, env, { ...options, onLook: () => health.looked() });
  // Not awaited, because the search for due threads may read many logs.
  void host.wake({ env }).catch(() => undefined);
  // Clients reconnect with a token that is still valid.
  named?.watch(() => streams.close(), options.onTokens);
  return {
    url: named ? `${shown}/` : `${shown}/?token=${token}`,
    token,
    port,
    entry: () => `${shown}/?code=${codes.make()}`,
    reload: () => named?.read(),
    async stop({ drain = false } = {}) {
      health.isDraining = true;
      named?.close();
      rest();
      streams.end();
      const finished = () => Promise.allSettled(running).then(() => server.stop());
      if (drain) await Promise.race([finished(), sleep(longestDrainMs, null, { ref: false })]);
      graphs.close();
      plans.close();
      await mcp.close();
      await server.stop(true);
    },
  };
}

/** Returns the client's address according to the proxy, which appends it to the addresses that the client claims. */
function clientOf({ headers }: Request, address: string | undefined): string | undefined {
  const forwarded = headers.get("x-forwarded-for")?.split(",").at(-1)?.trim();
  return forwarded?.slice(0, 64) || address;
}

const withoutPlans = () => Promise.reject(noPlans());

const info = {
  title: "uncaged-workflow",
  description:
    "Workflows and their threads, over one storage root. Every request needs the token: " +
    "Authorization: Bearer, or the cookie that the printed URL sets. `x-role` is the role that an operation needs.",
  license: { name: "MIT", identifier: "MIT" },
};

/** Combines all routes: the API under /api, runs under /workflow, and the console everywhere else. */
function makeApp(
  context: Context,
  served: Pick<z.infer<typeof serverSchema>, "version" | "root" | "project">,
  limited: MiddlewareHandler,
  files: ConsoleFiles,
  more: readonly OpenAPIHono[],
) {
  const startedAt = Date.now();
  const own = new Routes("Server");
  own.add("GET /server", {
    summary: "Show the server and its start time",
    answer: ["The server.", serverSchema],
    run: (_, call) => {
      const { role } = admittedTo(call).caller;
      return { name: "uncaged-workflow" as const, ...served, role, startedAt };
    },
  });
  const api = new OpenAPIHono();
  api.use(preparing(limited));
  const groups = [threadRoutes, controlRoutes, allRoutes, eventRoutes, workflowRoutes];
  const all = [own.app, ...groups.map((group) => group(context)), ...more];
  for (const routes of all) api.route("/", routes);

  const app = new OpenAPIHono();
  app.use(checkRole);
  const scheme = { type: "http", scheme: "bearer" } as const;
  app.openAPIRegistry.registerComponent("securitySchemes", "token", scheme);
  app.route("/api", api);
  app.use("/workflow/*", limited, preparing(untypedAsJson));
  app.route("/workflow", runRoutes(context));
  let described: object | undefined;
  app.get("/api/openapi.json", needs("read"), (c) =>
    c.json((described ??= describe(app, served.version))),
  );
  // Every role can use the console, so the console needs no route with a role.
  app.notFound((c) => {
    const { method, path } = c.req;
    const isPage = (method === "GET" || method === "HEAD") && isPagePath(path);
    const file = isPage ? files(path, c.req.raw.headers) : null;
    if (file) return file;
    throw unknownPath(method, path);
  });
  app.onError((error) => {
    throw error;
  });
  return app;
}

/** Returns the OpenAPI document. Operations are named by method and path. */
function describe(app: OpenAPIHono, version: string): object {
  const document = app.getOpenAPI31Document({
    openapi: "3.1.0",
    info: { ...info, version },
    servers: [{ url: "/" }],
    security: [{ token: [] }],
  });
  const paths = Object.entries(document.paths ?? {}).map(([path, item]) => {
    const words = path.split(/[/{}]+/).filter((word) => word !== "" && word !== "api");
    const name = words.map((word) => word[0]?.toUpperCase() + word.slice(1)).join("");
    const named = Object.entries(item).map(([method, operation]) => [
      method,
      { operationId: `${method}${name}`, ...operation },
    ]);
    return [path, Object.fromEntries(named)] as const;
  });
  return { ...document, paths: Object.fromEntries(paths) };
}

// Browsers can't open the wildcard address.
const shownHost = (host: string): string =>
  host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;

type Serve = (request: Request, server: Bun.Server<undefined>) => Promise<Response>;

function listen({ hostname, port }: ServerOptions, fetch: Serve): Bun.Server<undefined> {
  // Bun treats an empty name as every address.
  if (hostname.trim() === "") throw listenError(hostname, port, null);
  try {
    return Bun.serve({
      hostname,
      port,
      idleTimeout: longestSilenceS,
      maxRequestBodySize: mostReceived,
      development: false,
      // In development mode, Bun lets a second process listen on the same port.
      reusePort: false,
      fetch,
    });
  } catch (cause) {
    throw listenError(hostname, port, cause);
  }
}

function listenError(hostname: string, port: number, cause: unknown): WorkflowError {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  return code === "EADDRINUSE" ? portInUse(hostname, port) : cantListen(hostname, port, code);
}
