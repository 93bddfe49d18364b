const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width">
    <title>uncaged-workflow</title>
  </head>
  <body>
    <h1>uncaged-workflow</h1>
    <p>The server runs. The console is not built here, so there is no page to show.</p>
    <p>The API is: <a href="/api/openapi.json">/api/openapi.json</a></p>
  </body>
</html>
`;

/** The page that stands in for a console that was not built. */
export const notBuilt = (): Response =>
  new Response(page, { headers: { "Content-Type": "text/html; charset=utf-8" } });
