/** The password of each URL in a text: `postgres://me:password@host`. */
export const urlPassword = /([a-z][a-z0-9+.-]*:\/\/[^/?#\s@]*?):([^/?#\s]+)@/gi;

/** A text without the passwords of its URLs, as it may be shown and logged. */
export const withoutPasswords = (text: string): string =>
  text.includes("://") ? text.replace(urlPassword, "$1:***@") : text;
