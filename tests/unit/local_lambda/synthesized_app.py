"""Cloud assemblies on disk, as the CDK writes them, from plain dictionaries."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Json = dict[str, Any]


class SynthesizedApp:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._artifacts: Json = {}

    def stack(
        self,
        name: str,
        resources: Json,
        *,
        assets: tuple[str, ...] = (),
        outputs: Json | None = None,
        **sections: Any,
    ) -> SynthesizedApp:
        """Each asset is a folder with an empty ``app.py``, at the key ``NAME.zip``."""
        template = {"Resources": resources, "Outputs": outputs or {}} | sections
        self._write(f"{name}.template.json", template)
        files = {}
        for asset in assets:
            (self.folder / f"asset.{asset}").mkdir(exist_ok=True)
            (self.folder / f"asset.{asset}" / "app.py").write_text("", encoding="utf-8")
            files[asset] = {
                "source": {"path": f"asset.{asset}", "packaging": "zip"},
                "destinations": {"current": {"bucketName": "b", "objectKey": f"{asset}.zip"}},
            }
        self._write(f"{name}.assets.json", {"files": files})
        self._artifacts[name] = {
            "type": "aws:cloudformation:stack",
            "properties": {"templateFile": f"{name}.template.json"},
        }
        self._write("manifest.json", {"artifacts": self._artifacts})
        return self

    def _write(self, name: str, values: Json) -> None:
        (self.folder / name).write_text(json.dumps(values), encoding="utf-8")


def stream(name: str | None = "orders", **properties: Any) -> Json:
    named = {"Name": name} if name else {}
    return {"Type": "AWS::Kinesis::Stream", "Properties": named | properties}


def consumer(name: str, of: Any) -> Json:
    properties = {"ConsumerName": name, "StreamARN": of}
    return {"Type": "AWS::Kinesis::StreamConsumer", "Properties": properties}


def function(name: str | None = "handle-orders", asset: str = "code", **properties: Any) -> Json:
    named = {"FunctionName": name} if name else {}
    code = {"S3Bucket": "b", "S3Key": f"{asset}.zip"}
    return {
        "Type": "AWS::Lambda::Function",
        "Properties": {"Handler": "app.handler", "Runtime": "python3.13", "Code": code}
        | named
        | properties,
    }


def mapping(source: Any, of: Any, **properties: Any) -> Json:
    return {
        "Type": "AWS::Lambda::EventSourceMapping",
        "Properties": {"EventSourceArn": source, "FunctionName": of, "StartingPosition": "LATEST"}
        | properties,
    }


def attribute(logical_id: str, name: str = "Arn") -> Json:
    return {"Fn::GetAtt": [logical_id, name]}


def ref(logical_id: str) -> Json:
    return {"Ref": logical_id}
