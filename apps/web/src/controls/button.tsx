import type { ComponentProps, ReactNode } from "react";
import styles from "./button.module.css";

type Look = "solid" | "plain" | "quiet" | "danger";

type Props = ComponentProps<"button"> & {
  look?: Look;
  small?: boolean;
  icon?: ReactNode;
  /** Shown as at work, and not to be pressed again. */
  isBusy?: boolean;
};

/** The class of what looks like a button: for links and the triggers of menus. */
export const buttonClass = (look: Look = "plain", small = false): string =>
  [styles.button, styles[look], small ? styles.small : ""].join(" ");

/** A button; `solid` is the one thing to do on a page. */
export function Button(props: Props) {
  const { look, small, icon, isBusy = false, children, disabled, className = "", ...rest } = props;
  return (
    <button
      type="button"
      {...rest}
      className={`${buttonClass(look, small)} ${children ? "" : styles.bare} ${className}`}
      disabled={disabled === true || isBusy}
      aria-busy={isBusy || undefined}
    >
      {icon}
      {children}
    </button>
  );
}
