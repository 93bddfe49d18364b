import { Menu as Base } from "@base-ui/react/menu";
import type { ReactElement, ReactNode } from "react";
import styles from "./menu.module.css";

type Props = { trigger: ReactElement; children: ReactNode };

/** A button that opens a list of things to do. */
export function Menu({ trigger, children }: Props) {
  return (
    <Base.Root modal={false}>
      <Base.Trigger render={trigger} />
      <Base.Portal>
        <Base.Positioner className={styles.positioner} sideOffset={4} align="end">
          <Base.Popup className={styles.popup}>{children}</Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}

type ItemProps = {
  icon?: ReactNode;
  danger?: boolean;
  onClick: () => void;
  children: ReactNode;
};

/** One thing to do. */
export function MenuItem({ icon, danger = false, onClick, children }: ItemProps) {
  return (
    <Base.Item className={`${styles.item} ${danger ? styles.danger : ""}`} onClick={onClick}>
      {icon}
      {children}
    </Base.Item>
  );
}
