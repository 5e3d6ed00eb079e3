"""Sales of a month with NumPy and pandas: read, cleaned, summed up by region."""

import io

import numpy as np
import pandas as pd

import backstitch_debug as bs

TABLE = """region,item,units,price
north,tea,10,3.0
north,coffee,4,5.0
south,tea,7,3.5
south,water,,1.0
west,coffee,12,4.5
"""


def read():
    sales = pd.read_csv(io.StringIO(TABLE))
    sales["units"] = sales["units"].fillna(0).astype(int)
    return sales


def report(sales, weights):
    sales = sales.assign(revenue=sales["units"] * sales["price"])
    print(sales.to_string(index=False))
    print(sales.groupby("region")["revenue"].sum().to_string())
    print("weighted", float(sales["revenue"].to_numpy() @ weights))


def main():
    sales = read()
    weights = np.ones(len(sales))
    grid = np.arange(12).reshape(3, 4)
    large = np.zeros(2_000_000)
    print("read", sales.shape)
    bs.pause("before the report")
    report(sales, weights)
    print("grid", grid.sum(), "large", large.sum())


bs.on()
main()
