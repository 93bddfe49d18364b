/**
 * Makes a provider's client. It would read what it is not told from its process's environment, which is
 * that of another shell than the thread's: there is none while it is made.
 */
export function made<Client>(make: () => Client): Client {
  const { env } = process;
  process.env = {};
  try {
    return make();
  } finally {
    process.env = env;
  }
}
