/** A received request. */
export type Request = {
  path: string;
  method: string;
  headers: Record<string, string>;
  body: string;
};

export type Origin = { url: string; came: Request[]; stop: () => void };

/**
 * Starts a server on its own port, and so with its own origin. The server sends the response that `answer` returns, and
 * echoes every other request.
 */
export function origin(answer: (url: URL) => Response | null = () => null): Origin {
  const came: Request[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const url = new URL(request.url);
      const { method } = request;
      const headers = Object.fromEntries(request.headers);
      came.push({ path: url.pathname, method, headers, body: await request.text() });
      return answer(url) ?? Response.json(came.at(-1));
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    came,
    stop: () => void server.stop(true),
  };
}

/** Returns a redirect whose `location` header is exactly the given text. */
export const redirect = (status: number, location?: string): Response =>
  new Response("moved", { status, headers: location === undefined ? {} : { location } });
