"""Write the samples anew that are made."""

from tests.docs.samples.making import exports, packed

for path, data in (*packed(), *exports()):
    path.write_bytes(data)
    print(f"{path.name}: {len(data):,} bytes")
