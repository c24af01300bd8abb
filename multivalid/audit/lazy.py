"""The audit of rows that stay in their engine, under the name that fits import it by."""

from multivalid.audit.audit import audit_source as audit_lazy

__all__ = ["audit_lazy"]
